package main

import "github.com/spf13/cobra"

func newRBAC() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rbac",
		Short: "Find out which permissions a client needs",
		Args:  aCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRBACRecord())
	return cmd
}
