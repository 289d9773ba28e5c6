/* The process that holds a pod's namespaces: it reaps orphans and ends on SIGTERM. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int number) {
  (void)number;
  _exit(0);
}

static void reap(int number) {
  (void)number;
  while (waitpid(-1, 0, WNOHANG) > 0) {
  }
}

int main(void) {
  const struct sigaction ending = {.sa_handler = end};
  const struct sigaction reaping = {.sa_handler = reap, .sa_flags = SA_NOCLDSTOP};
  if (sigaction(SIGTERM, &ending, 0) || sigaction(SIGINT, &ending, 0) || sigaction(SIGCHLD, &reaping, 0)) return 1;
  for (;;) pause();
}
