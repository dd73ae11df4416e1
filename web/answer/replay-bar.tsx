import type { Answer } from 'flinch-client';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { durationOf, type Recording, Replay } from '../chats/recording.js';
import { formatTime } from '../words.js';

const SPEEDS = [0.25, 0.5, 1, 2, 4];

export interface ReplayBarProps {
  readonly recording: Recording;
  /** Draws the answer as it was at a moment; `null`: as it is. */
  readonly onShow: (answer: Answer | null) => void;
}

/** Plays a finished answer again: as it came, faster or slower, or at any moment of it. */
export function ReplayBar({ recording, onShow }: ReplayBarProps): ReactNode {
  const replay = useMemo(() => new Replay(recording), [recording]);
  const end = durationOf(recording);
  const [ms, setMs] = useState(end);
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const seek = (to: number) => {
    setMs(to);
    onShow(to >= end ? null : replay.at(to));
    if (to >= end) setPlaying(false);
  };
  useEffect(() => {
    if (!playing) return;
    let at = ms;
    let last = performance.now();
    let frame = requestAnimationFrame(function tick(now) {
      at = Math.min(end, at + (now - last) * speed);
      last = now;
      seek(at);
      if (at < end) frame = requestAnimationFrame(tick);
    });
    return () => cancelAnimationFrame(frame);
  }, [playing, speed]);
  const play = () => {
    if (!playing && ms >= end) seek(0);
    setPlaying(!playing);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a frame, and is for forms
    <div className="replay" role="group" aria-label="Replay">
      <button type="button" className="quiet replay-play" onClick={play}>
        {playing ? 'Pause' : ms >= end ? 'Replay' : 'Play'}
      </button>
      <input
        type="range"
        aria-label="Moment"
        aria-valuetext={`${formatTime(ms)} of ${formatTime(end)}`}
        min={0}
        max={Math.ceil(end)}
        step={1}
        value={ms >= end ? Math.ceil(end) : ms}
        onChange={({ currentTarget }) => {
          setPlaying(false);
          seek(currentTarget.valueAsNumber >= Math.ceil(end) ? end : currentTarget.valueAsNumber);
        }}
      />
      <output>{`${formatTime(ms)} / ${formatTime(end)}`}</output>
      <select
        aria-label="Speed"
        value={speed}
        onChange={({ currentTarget }) => setSpeed(Number(currentTarget.value))}
      >
        {SPEEDS.map((each) => (
          <option key={each} value={each}>{`${each}×`}</option>
        ))}
      </select>
    </div>
  );
}
