package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

// flagSection is a group of flags in a command's help. A flag belongs to the first section that has
// its name, or one of whose prefixes it begins with.
type flagSection struct {
	name            string
	flags, prefixes []string
}

// clusterSections are the sections of the flags of commands that start a cluster.
func clusterSections() []flagSection {
	return []flagSection{
		{name: "essential", flags: []string{"nodes", "pool", "clock", "ui", "ui-address", "open", "proxy", "publish", "name", "detach", "config", "from-objects", "from-snapshot", "data-dir", "kubeconfig", "seed", "help"}},
		{name: "node and pod", flags: []string{"start-delay", "ready-delay", "kube-proxy-min-sync-period", "manage-all-nodes", "stages", "registry-file", "image-catalog", "cloud-provider", "allocate-node-cidrs", "cluster-cidr"}, prefixes: []string{"node-cidr-"}},
		{name: "controller and scheduler", flags: []string{"controllers", "scheduler", "scheduler-config", "leader-elect", "chaos-mesh"}},
		{name: "state", flags: []string{"history", "redact-secrets"}, prefixes: []string{"etcd-", "encryption-"}},
		{name: "API server", flags: []string{
			"port", "bind-address", "advertise-address", "service-cluster-ip-range", "service-node-port-range", "max-requests-inflight",
			"max-mutating-requests-inflight", "feature-gates", "runtime-config", "emulated-version", "memory-limit", "stop-with-stdin",
		}},
		{name: "admission", flags: []string{"ignore-simulated-webhooks"}, prefixes: []string{"admission-", "enable-admission-", "disable-admission-"}},
		{name: "authentication", flags: []string{"client-ca-file", "token-auth-file", "anonymous-auth", "enable-bootstrap-token-auth"}, prefixes: []string{"authentication-", "oidc-", "requestheader-"}},
		{name: "authorization", prefixes: []string{"authorization-"}},
		{name: "audit", prefixes: []string{"audit-"}},
	}
}

// sectionsOf groups the flags of a command. Flags that no section has are in the last one.
func sectionsOf(flags *pflag.FlagSet, sections []flagSection) *cliflag.NamedFlagSets {
	sets := &cliflag.NamedFlagSets{}
	for _, s := range sections {
		set := sets.FlagSet(s.name)
		set.SortFlags = false
		for _, name := range s.flags { // in this order
			if flag := flags.Lookup(name); flag != nil {
				set.AddFlag(flag)
			}
		}
	}
	flags.VisitAll(func(flag *pflag.Flag) {
		if slices.ContainsFunc(sections, func(s flagSection) bool { return slices.Contains(s.flags, flag.Name) }) {
			return
		}
		for _, s := range sections {
			if slices.ContainsFunc(s.prefixes, func(prefix string) bool { return strings.HasPrefix(flag.Name, prefix) }) {
				sets.FlagSet(s.name).AddFlag(flag)
				return
			}
		}
		sets.FlagSet(otherFlags).AddFlag(flag)
	})
	return sets
}

// otherFlags is the section of the flags that no other has.
const otherFlags = "other"

// showSections groups the flags in a command's help by their named sets, which sets returns when all
// flags are known.
func showSections(cmd *cobra.Command, sets func() *cliflag.NamedFlagSets) {
	usage := func(cmd *cobra.Command, w io.Writer) {
		_, _ = fmt.Fprintf(w, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
		cliflag.PrintSections(w, *sets(), columnsOf(w))
		_, _ = fmt.Fprintf(w, "\nGlobal flags:\n\n%s", cmd.InheritedFlags().FlagUsages())
	}
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		usage(cmd, cmd.OutOrStderr())
		return nil
	})
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n", cmd.Long)
		usage(cmd, cmd.OutOrStdout())
	})
}

// showClusterSections groups the flags of a command that starts a cluster.
func showClusterSections(cmd *cobra.Command) {
	showSections(cmd, func() *cliflag.NamedFlagSets {
		cmd.InitDefaultHelpFlag()
		return sectionsOf(cmd.LocalFlags(), clusterSections())
	})
}
