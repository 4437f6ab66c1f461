package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm/internal/capacity"
)

func newFit() *cobra.Command {
	var flags capacityFlags
	var replicas, limit int
	var file string
	cmd := &cobra.Command{
		Use:   "fit [KIND/NAME]",
		Short: "Show how many more replicas of a workload fit, and why the next one does not",
		Long: `Scale a workload up on a fork of a cluster, in this process and in virtual time, and show
how many new replicas the scheduler places, on which nodes, and why each node rejects the
next one. With -f, the workload is one of a file, which the cluster need not have. The
cluster is selected as by "minikcm whatif" and only read. The exit code is 0
if one more replica fits, or all that --replicas asks for; 1 if not; 2 if the question is
invalid; 3 if the answer depends on something that the dump does not contain.`,
		Example: `  minikcm fit deployment/web
  minikcm fit shop/statefulset/db --replicas 5 --from-objects dump.yaml
  minikcm fit -f web.yaml --no-preemption`,
		Args:              atMostOneArg("a workload as KIND/NAME"),
		ValidArgsFunction: completeScalable,
		RunE: func(cmd *cobra.Command, args []string) error {
			target, err := flags.target(args, file)
			if err != nil {
				return badInput{err}
			}
			if replicas < 0 || replicas > capacity.MaxReplicas || limit < 1 || limit > capacity.MaxReplicas {
				return badInput{fmt.Errorf("--replicas and --limit must be between 1 and %d", capacity.MaxReplicas)}
			}
			return flags.ask(cmd, func(ctx context.Context, fork *capacity.Fork) (answer, error) {
				if file != "" {
					if target, err = fork.Prepare(ctx, file, target, flags.namespace); err != nil {
						return nil, err
					}
				}
				return fork.Fit(ctx, target, replicas, limit)
			})
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVarP(&file, "filename", "f", "", "file or folder with the workload and what it needs, which are applied to the fork first")
	cmd.Flags().IntVar(&replicas, "replicas", 0, "check only whether this total number of replicas fits; 0 finds the largest number that fits")
	cmd.Flags().IntVar(&limit, "limit", capacity.DefaultLimit, "maximum number of additional replicas to try")
	return cmd
}

// target returns the workload of the arguments; nil for the only one of a file.
func (f *capacityFlags) target(args []string, file string) (*capacity.Target, error) {
	switch {
	case len(args) > 0:
		return capacity.ParseTarget(args[0], f.namespace)
	case file != "":
		return nil, nil
	}
	return nil, errors.New("which workload? Give it as KIND/NAME, such as deployment/web, or with -f as a file")
}
