/** In the words of the command line. */
export function Remedy({ text }: { readonly text: string }) {
  return (
    <p>
      <strong>What to do:</strong> {text}
    </p>
  );
}
