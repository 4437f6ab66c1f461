package main

import (
	"context"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm/internal/capacity"
)

func newWhatif() *cobra.Command {
	var flags capacityFlags
	surge, trafficFile := -1, ""
	cmd := &cobra.Command{
		Use:   "whatif CHANGE[, CHANGE...]",
		Short: "Show the effects of a change before it is made",
		Long: `Apply changes to a fork of a cluster, in this process and in virtual time, and show which
pods would move, which would stay pending and why, which evictions a PodDisruptionBudget
would refuse, and how full the nodes would be. The changes are

  drain NODES                     cordon nodes and evict their pods, one node after the other
  remove NODES                    delete nodes; their pods are lost
  crash NODES                     take the machines of nodes down
  upgrade POOL [surge N]          replace the nodes of a pool, N at a time (1)
  consolidate [NODES]             drain and delete the nodes whose pods fit on the others
  add N like NODE                 add N nodes with the labels, taints and capacity of NODE
  apply FILE                      apply the objects of a file, as kubectl apply does
  load [NAMESPACE/]SERVICE xN     multiply the load of the Service's pods; autoscalers act
  scale [NAMESPACE/]KIND/NAME=N...

NODES are names of nodes, label selectors, "zone NAME..." or "pool NAME...". Changes separated
by commas are made at the same instant. The cluster is the one that "minikcm up" runs, any
other by its kubeconfig, a dump, or an etcd snapshot. It is only read. Pods and nodes that
are unhealthy stay so. The exit code is 0 if everything fits, 1 if it does not: pods stay
pending or are not replaced, nodes are not drained, or the objectives of the traffic are not
met; 2 if the question is invalid; 3 if
the answer depends on something that the dump does not contain.`,
		Example: `  minikcm whatif drain node-1
  minikcm whatif drain node-1 node-2, add 1 like node-3, scale deployment/web=20
  minikcm whatif crash zone eu-1a --from-objects dump.yaml
  minikcm whatif upgrade data surge 2 --from-objects dump.yaml
  minikcm whatif drain node-1 --from-objects dump.yaml --traffic rates.yaml`,
		Args:              someArgs("a change"),
		ValidArgsFunction: completeChange,
		RunE: func(cmd *cobra.Command, words []string) error {
			changes, err := capacity.ParseChanges(words, flags.namespace)
			if err != nil {
				return badInput{err}
			}
			if trafficFile != "" {
				if flags.traffic, err = capacity.ReadTraffic(trafficFile); err != nil {
					return badInput{err}
				}
				flags.assumeDelays(cmd.Flags())
			}
			for i := range changes {
				c := &changes[i]
				if c.Verb == capacity.Upgrade && surge >= 0 {
					c.Surge = surge
				}
				flags.autoscale = flags.autoscale || c.Verb == capacity.Load
			}
			return flags.ask(cmd, func(ctx context.Context, fork *capacity.Fork) (answer, error) {
				report, err := fork.WhatIf(ctx, changes)
				if err != nil {
					return nil, err
				}
				return report, fork.Advise(ctx, changes, report)
			})
		},
	}
	flags.register(cmd)
	registerDrainFlags(cmd.Flags(), &flags.drain)
	cmd.Flags().StringVar(&trafficFile, "traffic", "", "file of requests to Services: how many fail while the changes are made, when and why; pods then take 2s to start and 5s to get ready, unless --start-delay and --ready-delay are given")
	cmd.Flags().IntVar(&surge, "surge", -1, "how many nodes an upgrade replaces at a time; with 0, one at a time, whose replacement comes after it (default 1)")
	return cmd
}
