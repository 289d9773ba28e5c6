/*
 * The most memory that a program held, without what it started: peak-memory FILE PROGRAM
 *
 * Runs PROGRAM in this process's environment and with its files, adds a line with its peak resident memory in KiB, and a
 * space and its CNI_COMMAND before that, to FILE, and exits with its exit code. wait4 tells the largest of a process and
 * those that it waited for, which for a CNI plugin is its IPAM plugin.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what) {
  fprintf(stderr, "peak-memory: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void note_peak(pid_t pid, const char *path) {
  char name[64], line[256];
  snprintf(name, sizeof name, "/proc/%d/status", pid);
  FILE *status = fopen(name, "r"), *notes = fopen(path, "a");
  if (status == NULL || notes == NULL) die(status == NULL ? name : path);
  long peak = -1;
  while (fgets(line, sizeof line, status) != NULL && sscanf(line, "VmHWM: %ld", &peak) != 1);
  const char *command = getenv("CNI_COMMAND");
  fprintf(notes, "%s %ld\n", command != NULL ? command : "-", peak);
  fclose(notes);
  fclose(status);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: peak-memory FILE PROGRAM\n");
    return 1;
  }
  pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    execl(argv[2], argv[2], NULL);
    die(argv[2]);
  }
  int status;
  if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status)) die("waitpid");
  if (ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL) != 0) die("ptrace");
  for (int signal = 0;;) {
    if (ptrace(PTRACE_CONT, pid, 0, signal) != 0 || waitpid(pid, &status, 0) < 0) die("ptrace");
    if (!WIFSTOPPED(status)) break;
    int at_exit = status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8);
    if (at_exit) note_peak(pid, argv[1]);
    signal = at_exit ? 0 : WSTOPSIG(status);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
