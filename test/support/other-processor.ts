/** For NODE_OPTIONS of a process: it takes itself for one on this processor, which nothing of ours is made for. */
export const OTHER_PROCESSOR = "--import=data:text/javascript,Object.defineProperty(process,'arch',{value:'s390x'})";
