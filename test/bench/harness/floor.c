/* The least that any executable costs: a static process that answers at once. */
#include <unistd.h>

int main(void) {
  return write(STDOUT_FILENO, "{}\n", 3) == 3 ? 0 : 1;
}
