package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"minikcm.dev/minikcm/internal/scenario/faultapi"
	"minikcm.dev/minikcm/internal/spell"
	"minikcm.dev/minikcm/scenarios/fault"
)

// faultExamples are the help examples by the part of the cluster that a fault affects.
var faultExamples = map[string]string{
	"pods": `  minikcm fault pod kill --selector app=web --percent 50
  minikcm fault pod kill --selector app=web --every 10s --jitter 20 --times 6
  minikcm fault pod notReady web-0 --for 1m`,
	"nodes": `  minikcm fault node crash node-1 --for 5m
  minikcm fault node slow --all --delay 5s
  minikcm fault node taint node-1 --taint dedicated=db:NoExecute --for 1m`,
	"network": `  minikcm fault network partition --from deploy/web --to svc/db --for 5m
  minikcm fault network delay --from zone/a --to zone/b --delay 200ms --spread 50ms
  minikcm fault network loss --from app=web --to outside --percent 30 --for 1m`,
	"dns": `  minikcm fault dns servfail --hosts 'db.*' --from app=web --for 1m
  minikcm fault dns timeout --for 30s`,
	"http": `  minikcm fault http replace --to svc/api --path '/v1/*' --code 503 --percent 20 --for 5m
  minikcm fault http delay --from deploy/web --to svc/api --delay 2s`,
	"apiserver": `  minikcm fault apiserver error --code 503 --percent 50 --for 10s
  minikcm fault apiserver latency --delay 2s --verbs list,watch --for 1m
  minikcm fault apiserver restart`,
	"etcd": `  minikcm fault etcd slow --delay 500ms --for 1m
  minikcm fault etcd unavailable --operations writes --percent 20 --for 30s`,
	"webhooks": `  minikcm fault webhook down opa --for 10m
  minikcm fault webhook slow --delay 20s --for 5m
  minikcm fault webhook deny validate.example.com --message "quota of the team is used up"`,
	"controllers": `  minikcm fault controller pause deployment-controller --for 1m
  minikcm fault controller crash --all`,
	"clock": `  minikcm fault clock skew --nodes node-0 --by -2m --for 10m`,
}

// faultFlags are the flags of every fault command.
type faultFlags struct{ kubeconfig string }

func newFault() *cobra.Command {
	f := &faultFlags{}
	cmd := &cobra.Command{
		Use:   "fault",
		Short: "Inject faults into a running cluster and stop them",
		Long: `Inject faults into the cluster that "minikcm up" or "minikcm exec" runs. A fault happens
in the cluster's process and on its clock; the command returns once it has happened. A
lasting fault is reverted after --for, by "minikcm fault stop", and when the cluster
stops. docs/faults.md describes each fault.`,
		Example: `  minikcm fault node crash node-1 --for 5m
  minikcm fault list
  minikcm fault stop f-1`,
		Args: aCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the running cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	for _, p := range fault.Parts() {
		cmd.AddCommand(newFaultPart(f, p))
	}
	cmd.AddCommand(newFaultApply(f), newFaultList(f), newFaultStop(f))
	return cmd
}

// newFaultPart returns the command for the faults of one part of the cluster, generated
// from the table of faults.
func newFaultPart(f *faultFlags, part fault.Part) *cobra.Command {
	flags, inject := &partFlags{part: part}, &injectFlags{faultFlags: f}
	use, rest := part.One+" ACTION", ""
	if flags.hasNames() {
		rest = " [NAME...]"
	}
	cmd := &cobra.Command{
		Use:     use + rest,
		Short:   partShort(part),
		Long:    partShort(part) + ". The actions are\n\n" + actionTable(part),
		Example: faultExamples[part.Name],

		ValidArgsFunction: completeFault(part),
		Args: func(_ *cobra.Command, args []string) error {
			return flags.check(args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			asked, err := flags.fault(cmd, args)
			if err != nil {
				return badInput{err}
			}
			return inject.inject(cmd, asked)
		},
	}
	flags.register(cmd.Flags())
	inject.register(cmd)
	return cmd
}

func partShort(part fault.Part) string {
	switch part.Name {
	case "apiserver":
		return "Inject faults into the API server"
	case "network", "dns", "http":
		return "Inject faults into " + map[string]string{"network": "the network between pods, nodes and the outside", "dns": "the answers of the name server", "http": "requests that pods send"}[part.Name]
	case "etcd", "clock":
		return "Inject faults into " + map[string]string{"etcd": "the API server's store", "clock": "clocks"}[part.Name]
	}
	if part.Name == "webhooks" {
		return "Inject faults into admission webhooks"
	}
	return "Inject faults into " + part.Name
}

func actionNames(part fault.Part) []string {
	var names []string
	for _, a := range part.Actions {
		names = append(names, a.Name)
	}
	return names
}

func actionTable(part fault.Part) string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, a := range part.Actions {
		_, _ = fmt.Fprintf(table, "  %s\t%s\n", a.Name, a.Does) // writes to memory do not fail
	}
	_ = table.Flush()
	return strings.TrimSuffix(text.String(), "\n")
}

// noAction is the error for a missing or unknown action. It lists the known ones.
func noAction(part fault.Part, written string) error {
	names := actionNames(part)
	known := strings.Join(names, ", ")
	if written == "" {
		return fmt.Errorf("the action for %s is missing: the actions are %s", part.Name, known)
	}
	hint := ""
	if meant := spell.Nearest(written, names); meant != "" {
		hint = fmt.Sprintf("; did you mean %s?", meant)
	}
	return fmt.Errorf("unknown action %q for %s%s\nThe actions are %s", written, part.Name, hint, known)
}

// isAction reports whether a part has the action.
func isAction(part fault.Part, name string) bool { return slices.Contains(actionNames(part), name) }

// client returns a client for the fault API of the cluster that the flags select.
func (f *faultFlags) client(ctx context.Context) (*faultapi.Client, error) {
	config, err := clientConfig(ctx, f.kubeconfig)
	if err != nil {
		return nil, err
	}
	return faultapi.NewClient(config)
}
