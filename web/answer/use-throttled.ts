import { useEffect, useRef, useState } from 'react';

/** A value that changes with every token, at most every so many milliseconds; 0: at once. */
export function useThrottled<Value>(value: Value, ms: number): Value {
  const latest = useRef(value);
  latest.current = value;
  const [shown, setShown] = useState(value);
  const timer = useRef(0);
  useEffect(() => {
    if (ms === 0 || timer.current !== 0) return;
    timer.current = window.setTimeout(() => {
      timer.current = 0;
      setShown(latest.current);
    }, ms);
  }, [value, ms]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return ms === 0 ? value : shown;
}
