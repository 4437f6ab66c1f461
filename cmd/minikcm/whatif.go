package main

import (
	"context"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm/capacity"
)

func newWhatif() *cobra.Command {
	var flags capacityFlags
	cmd := &cobra.Command{
		Use:   "whatif CHANGE[, CHANGE...]",
		Short: "Show the effects of a change before it is made",
		Long: `Apply changes to a fork of a cluster, in this process and in virtual time, and show which
pods would move, which would stay pending and why, which evictions a PodDisruptionBudget
would refuse, and how full the nodes would be. The changes are

  drain NODE...                   cordon nodes and evict their pods
  remove NODE...                  delete nodes; their pods are lost
  add N like NODE                 add N nodes with the labels, taints and capacity of NODE
  scale [NAMESPACE/]KIND/NAME=N...

Changes separated by commas are made at the same instant. The cluster is the one that
"minikcm up" runs, any other by its kubeconfig, a dump, or an etcd snapshot. It is only
read. The exit code is 0 if everything fits, 1 if pods stay pending or evictions are
refused, 2 if the question is invalid.`,
		Example: `  minikcm whatif drain node-1
  minikcm whatif drain node-1 node-2, add 1 like node-3, scale deployment/web=20
  kubectl get all,nodes,pdb -A -o yaml | minikcm whatif remove worker-3 --from-objects -`,
		Args:              someArgs("a change"),
		ValidArgsFunction: completeChange,
		RunE: func(cmd *cobra.Command, words []string) error {
			changes, err := capacity.ParseChanges(words, flags.namespace)
			if err != nil {
				return badInput{err}
			}
			return flags.ask(cmd, func(ctx context.Context, fork *capacity.Fork) error {
				report, err := fork.WhatIf(ctx, changes)
				if err != nil {
					return err
				}
				return flags.printAnswer(cmd.OutOrStdout(), report, report.Fits)
			})
		},
	}
	flags.register(cmd)
	return cmd
}
