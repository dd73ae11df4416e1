/** The `id:` of an event that a stream can be resumed after: `<epoch>/<response id>/<offset>`. */
export const EVENT_ID = /^([\w-]+)\/([\w-]+)\/(\d{1,15})$/;
