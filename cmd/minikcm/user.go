package main

import "github.com/spf13/cobra"

func newUser() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "user",
		Short: "Add users to a running cluster",
		Long: `Add users to the cluster that "minikcm up" runs. A user may do what the roles allow that are
bound to the name or to one of the groups.`,
		Args: aCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newUserAdd())
	return cmd
}
