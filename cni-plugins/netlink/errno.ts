/** Names and meanings of the errors that links and bridges give. The same numbers on amd64 and arm64. */

export const EPERM = 1;
export const ENOENT = 2;
export const EINTR = 4;
export const ENXIO = 6;
export const EAGAIN = 11;
export const ENOMEM = 12;
export const EACCES = 13;
export const EBUSY = 16;
export const EEXIST = 17;
export const ENODEV = 19;
export const ENOTDIR = 20;
export const EINVAL = 22;
export const ETXTBSY = 26;
export const EFBIG = 27;
export const EROFS = 30;
export const EPIPE = 32;
export const ENAMETOOLONG = 36;
export const ELOOP = 40;
export const EXFULL = 54;
export const EILSEQ = 84;
export const EPROTONOSUPPORT = 93;
export const EOPNOTSUPP = 95;
export const EAFNOSUPPORT = 97;
export const ENOBUFS = 105;

const NAMES: Readonly<Record<number, string>> = {
  1: "EPERM, operation not permitted",
  2: "ENOENT, no such file or directory",
  4: "EINTR, interrupted",
  5: "EIO, input/output error",
  6: "ENXIO, no such device or address",
  7: "E2BIG, arguments and environment are too long",
  8: "ENOEXEC, not a program that this kernel can run",
  10: "ECHILD, no such program",
  11: "EAGAIN, try again",
  12: "ENOMEM, out of memory",
  13: "EACCES, permission denied",
  16: "EBUSY, device or resource busy",
  17: "EEXIST, already exists",
  19: "ENODEV, no such device",
  20: "ENOTDIR, not a directory",
  21: "EISDIR, is a directory",
  22: "EINVAL, invalid argument",
  23: "ENFILE, too many open files on the node",
  24: "EMFILE, too many open files",
  26: "ETXTBSY, is being written",
  27: "EFBIG, too large",
  28: "ENOSPC, no space left",
  30: "EROFS, read-only file system",
  32: "EPIPE, broken pipe",
  34: "ERANGE, out of range",
  36: "ENAMETOOLONG, name too long",
  38: "ENOSYS, not implemented by this kernel",
  40: "ELOOP, would make a loop",
  54: "EXFULL, no room for more",
  80: "ELIBBAD, a library that it needs is damaged",
  84: "EILSEQ, not valid UTF-8",
  90: "EMSGSIZE, message too long",
  93: "EPROTONOSUPPORT, not supported by this kernel",
  95: "EOPNOTSUPP, not supported by this kernel or device",
  97: "EAFNOSUPPORT, address family not supported",
  98: "EADDRINUSE, address in use",
  99: "EADDRNOTAVAIL, address not usable",
  100: "ENETDOWN, network is down",
  101: "ENETUNREACH, network is unreachable",
  105: "ENOBUFS, no buffer space",
  107: "ENOTCONN, not connected",
  110: "ETIMEDOUT, timed out",
  113: "EHOSTUNREACH, no route to host",
  116: "ESTALE, the file is no longer on its server",
  122: "EDQUOT, the disk quota is used up",
};

/** "EEXIST, already exists"; "errno 999" for one without a name here. */
export function describeErrno(errno: number): string {
  return NAMES[errno] ?? `errno ${errno}`;
}
