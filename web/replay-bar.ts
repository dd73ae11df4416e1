import type { Answer } from 'flinch-client';
import { element, setText } from './dom.js';
import { durationOf, type Recording, Replay } from './recording.js';
import { formatTime } from './words.js';

const SPEEDS = [0.25, 0.5, 1, 2, 4];

/** Plays a finished answer again: as it came, faster or slower, or at any moment of it. */
export class ReplayBar {
  readonly element = element('div', { class: 'replay', role: 'group', 'aria-label': 'Replay', hidden: '' });
  readonly #play = element('button', { type: 'button', class: 'quiet replay-play' }, 'Replay');
  readonly #position = element('input', { type: 'range', min: '0', step: '1', 'aria-label': 'Moment' });
  readonly #time = element('output', { class: 'replay-time' });
  readonly #speed = element('select', { 'aria-label': 'Speed' });
  readonly #show: (answer: Answer) => void;
  #recording: Recording | null = null;
  #replay: Replay | null = null;
  #ms = 0;
  #frame = 0;

  /** @param show draws the answer as it was at a moment */
  constructor(show: (answer: Answer) => void) {
    this.#show = show;
    for (const speed of SPEEDS) {
      const option = element('option', { value: String(speed) }, `${speed}×`);
      option.selected = speed === 1;
      this.#speed.append(option);
    }
    this.element.append(this.#play, this.#position, this.#time, this.#speed);
    this.#play.addEventListener('click', () => (this.#frame === 0 ? this.#start() : this.#pause()));
    this.#position.addEventListener('input', () => {
      const ms = this.#position.valueAsNumber; // before it is drawn as it was
      this.#pause();
      this.#seek(ms);
    });
  }

  /** There is something to be played. */
  offer(recording: Recording): void {
    this.#recording = recording;
    this.#replay = new Replay(recording);
    this.#ms = durationOf(recording);
    this.#position.max = String(Math.ceil(this.#ms));
    this.element.hidden = false;
    this.#draw();
  }

  #start(): void {
    if (!this.#recording) return;
    const end = durationOf(this.#recording);
    if (this.#ms >= end) this.#seek(0);
    let last = performance.now();
    const tick = (now: number) => {
      this.#frame = requestAnimationFrame(tick);
      this.#seek(Math.min(end, this.#ms + (now - last) * Number(this.#speed.value)));
      last = now;
      if (this.#ms >= end) this.#pause();
    };
    this.#frame = requestAnimationFrame(tick);
    this.#draw();
  }

  #pause(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#draw();
  }

  #seek(ms: number): void {
    this.#ms = ms;
    this.#draw();
    if (this.#replay) this.#show(this.#replay.at(ms));
  }

  #draw(): void {
    const end = this.#recording ? durationOf(this.#recording) : 0;
    const idle = this.#ms >= end ? 'Replay' : 'Play';
    setText(this.#play, this.#frame === 0 ? idle : 'Pause');
    this.#position.value = String(this.#ms);
    this.#position.setAttribute('aria-valuetext', `${formatTime(this.#ms)} of ${formatTime(end)}`);
    setText(this.#time, `${formatTime(this.#ms)} / ${formatTime(end)}`);
  }
}
