export const HELP = `Who has which MAC address.

Usage:
  kubectl macpool list               addresses in use in a namespace (-A: everywhere)
  kubectl macpool find WHAT          who has an address (any notation, or a part), or which addresses
                                     a VM, a pod or a namespace has
  kubectl macpool status             what the pools have left, and what is wrong with them
  kubectl macpool version

Options:
  -n, --namespace NAME     namespace, that of the context unless given
  -A, --all-namespaces     every namespace
  -o, --output FORMAT      table, wide, json, yaml or name
      --no-headers         tables without their first line
      --context NAME       context of the kubeconfig
      --kubeconfig FILE    kubeconfig to use
  -h, --help

Exit codes: 0 fine, 1 a problem was found, 2 wrong usage.
`;
