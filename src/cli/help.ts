export const HELP = `Shows which VM or pod holds which MAC address.

Usage:
  kubectl macpool list               addresses in use in a namespace (-A: in all namespaces)
  kubectl macpool find WHAT          the holder of an address (any notation, or a part of it), or the
                                     addresses of a VM, a pod or a namespace
  kubectl macpool status             free addresses and problems of each pool
  kubectl macpool version            version of this program

Options:
  -n, --namespace NAME     namespace; default: the namespace of the context
  -A, --all-namespaces     all namespaces
  -o, --output FORMAT      table, wide, json, yaml or name
      --no-headers         no header line in tables
      --context NAME       context of the kubeconfig to use
      --kubeconfig FILE    kubeconfig to use
  -h, --help               this text

Exit codes: 0 success, 1 error or problem found, 2 wrong usage.
`;
