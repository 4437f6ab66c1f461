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
		Short: "Show how many more replicas of a workload fit, and why the next one does not",
		Long: `Scale a workload up on a fork of a cluster, in this process and in virtual time, and show
how many new replicas the scheduler places, on which nodes, and why each node rejects the
next one. The cluster is selected as by "minikcm whatif" and only read. The exit code is 0
if one more replica fits, or all that --replicas asks for; 1 if not; 2 if the question is
invalid.`,
		Example: `  minikcm fit deployment/web
  minikcm fit shop/statefulset/db --replicas 5 --from-objects dump.yaml`,
		Args:              oneArg("a workload as KIND/NAME"),
		ValidArgsFunction: completeObject,
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
	cmd.Flags().IntVar(&replicas, "replicas", 0, "check only whether this total number of replicas fits; 0 finds the largest number that fits")
	cmd.Flags().IntVar(&limit, "limit", capacity.DefaultLimit, "maximum number of additional replicas to try")
	return cmd
}
