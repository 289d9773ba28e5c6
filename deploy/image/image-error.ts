/** A sentence for the person at the terminal, without a stack. */
export class ImageError extends Error {}
