package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm/capacity"
)

func newFit() *cobra.Command {
	var flags capacityFlags
	var replicas, limit int
	cmd := &cobra.Command{
		Use:   "fit KIND/NAME",
		Short: "Say how many more replicas of a workload fit, and what stops the next",
		Long: `fit scales a workload up on a fork of a cluster, in the process and in virtual time, and
says how many of the new replicas the scheduler finds a node for, on which nodes they are,
and what is against each node for the next one. The cluster is found as by "minikcm whatif",
and only read. The exit code is 0 if one more fits, or as many as --replicas says; 1 if not;
2 if the question makes no sense.`,
		Example: `  minikcm fit deployment/web
  minikcm fit shop/statefulset/db --replicas 5 --from-objects dump.yaml`,
		Args: oneArg("a workload as KIND/NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			target, err := capacity.ParseTarget(args[0], flags.namespace)
			if err != nil {
				return badInput{err}
			}
			if replicas < 0 || replicas > capacity.MaxReplicas || limit < 1 || limit > capacity.MaxReplicas {
				return badInput{fmt.Errorf("--replicas and --limit must be between 1 and %d", capacity.MaxReplicas)}
			}
			return flags.ask(cmd, func(ctx context.Context, fork *capacity.Fork) error {
				fit, err := fork.Fit(ctx, target, replicas, limit)
				if err != nil {
					return err
				}
				return flags.printAnswer(cmd.OutOrStdout(), fit, fit.Fits())
			})
		},
	}
	flags.register(cmd)
	cmd.Flags().IntVar(&replicas, "replicas", 0, "only ask whether the workload fits with so many replicas altogether; 0 is as many as fit")
	cmd.Flags().IntVar(&limit, "limit", capacity.DefaultLimit, "how many more replicas to try at most")
	return cmd
}
