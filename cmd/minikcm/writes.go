package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/internal/writeexport"
)

func newWrites() *cobra.Command {
	var flags writesFlags
	cmd := &cobra.Command{
		Use:   "writes",
		Short: "Print the write record, also in the formats of other tools",
		Long: `Print the write record of the cluster that "minikcm up" runs or, with --run, of a run that
"minikcm scenario run" saved with --save or --json: each write to an object, with its user
and the revisions that caused it. The formats are

  json       what /minikcm/v1/writes returns
  audit      an event of audit.k8s.io/v1 for each write, a line each, for viewers of audit
             logs; the annotation minikcm.dev/causes lists the revisions that caused it
  perfetto   a trace for ui.perfetto.dev: a track for each user, arrows from causes to effects
  dot        a graph of causes for Graphviz

With --refused, print the requests that were refused instead: by a webhook, a policy, a
quota, a budget, another admission plugin, RBAC, flow control, a time-out, etcd or a fault.
Requests of one user for one object that the same thing refused are one line. The formats
are the table and json, which is what /minikcm/v1/refusals returns.`,
		Example: `  minikcm writes --resource pods -n shop
  minikcm writes -o audit > audit.log
  minikcm writes --run ./run.json -o perfetto > run.pftrace
  minikcm writes --since 4711 -o dot | dot -Tsvg > writes.svg
  minikcm writes --refused`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, known := writeFormats[flags.output]
			if !known {
				return badInput{fmt.Errorf("--output=%s: must be json, audit, perfetto or dot, or omitted", flags.output)}
			}
			if flags.refused {
				return flags.printRefusals(cmd.Context(), cmd.OutOrStdout())
			}
			if flags.since < 0 {
				return badInput{fmt.Errorf("--since must be a revision, a number that is not negative, but is %d", flags.since)}
			}
			writes, err := flags.writes(cmd.Context())
			if err != nil {
				return err
			}
			return format(cmd.OutOrStdout(), writes)
		},
	}
	cmd.Flags().StringVar(&flags.kubeconfig, "kubeconfig", "", "kubeconfig of the running cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	cmd.Flags().StringVar(&flags.run, "run", "", "print the writes of this saved run: its file, or the folder that contains it")
	cmd.Flags().StringVarP(&flags.namespace, "namespace", "n", "", "only writes to objects of this namespace")
	cmd.Flags().StringVar(&flags.resource, "resource", "", "only writes to objects of this resource, by its plural name, such as pods")
	cmd.Flags().StringVar(&flags.name, "name", "", "only writes to objects of this name")
	cmd.Flags().Int64Var(&flags.since, "since", 0, "only writes of later revisions, and those recorded after this one")
	cmd.Flags().BoolVar(&flags.refused, "refused", false, "print the requests that were refused")
	cmd.Flags().StringVarP(&flags.output, "output", "o", "", "output format: json, audit, perfetto or dot (default a table)")
	return cmd
}

// writesFlags are the flags of "minikcm writes".
type writesFlags struct {
	kubeconfig, run, namespace, resource, name, output string
	since                                              int64
	refused                                            bool
}

var writeFormats = map[string]func(io.Writer, []minikcm.Write) error{
	"":         writeexport.Table,
	"audit":    writeexport.Audit,
	"perfetto": writeexport.Perfetto,
	"dot":      writeexport.DOT,
	"json": func(w io.Writer, writes []minikcm.Write) error {
		return printJSON(w, writes)
	},
}

// writes gets the selected writes of a saved run or of a cluster.
func (f *writesFlags) writes(ctx context.Context) ([]minikcm.Write, error) {
	if f.run == "" {
		return f.writesLive(ctx)
	}
	saved, err := runrecord.Load(f.run)
	if err != nil {
		return nil, badInput{err}
	}
	differ := func(wanted, got string) bool { return wanted != "" && wanted != got }
	return slices.DeleteFunc(saved.Writes, func(w minikcm.Write) bool {
		return w.Revision <= f.since || differ(f.namespace, w.Namespace) || differ(f.resource, w.Resource.Resource) || differ(f.name, w.Name)
	}), nil
}

func (f *writesFlags) writesLive(ctx context.Context) (writes []minikcm.Write, err error) {
	err = f.ask(ctx, "writes", &writes, "since", strconv.FormatInt(f.since, 10))
	return writes, err
}

// ask gets a part of the record of a cluster: writes or refusals.
func (f *writesFlags) ask(ctx context.Context, part string, into any, parameters ...string) error {
	config, client, err := clusterOf(ctx, f.kubeconfig)
	if err != nil {
		return err
	}
	request := client.Discovery().RESTClient().Get().AbsPath("/minikcm/v1/"+part).SetHeader("Accept", "application/json")
	for i := 0; i < len(parameters); i += 2 {
		request = request.Param(parameters[i], parameters[i+1])
	}
	for name, value := range map[string]string{"namespace": f.namespace, "resource": f.resource, "name": f.name} {
		if value != "" {
			request = request.Param(name, value)
		}
	}
	answer := request.Do(ctx)
	err = answer.Error() // with the message of a Status, which DoRaw leaves out
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("the cluster at %s is not a minikcm cluster: it has no write record", config.Host)
	}
	if err != nil {
		return fmt.Errorf("asking the cluster at %s for its %s: %w", config.Host, part, err)
	}
	data, err := answer.Raw()
	if err != nil {
		return fmt.Errorf("reading the %s of the cluster at %s: %w", part, config.Host, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decoding the %s of the cluster at %s: %w", part, config.Host, err)
	}
	return nil
}

// printRefusals prints the refused requests of a saved run or of a cluster.
func (f *writesFlags) printRefusals(ctx context.Context, out io.Writer) error {
	if f.output != "" && f.output != "json" {
		return badInput{fmt.Errorf("--output=%s: with --refused, must be json or omitted", f.output)}
	}
	refusals, err := f.refusals(ctx)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return printJSON(out, refusals)
	}
	return writeexport.Refusals(out, refusals)
}

func (f *writesFlags) refusals(ctx context.Context) (refusals []minikcm.Refusal, err error) {
	if f.run == "" {
		err = f.ask(ctx, "refusals", &refusals)
		return refusals, err
	}
	saved, err := runrecord.Load(f.run)
	if err != nil {
		return nil, err
	}
	differ := func(wanted, got string) bool { return wanted != "" && wanted != got }
	return slices.DeleteFunc(saved.Refusals, func(r minikcm.Refusal) bool {
		return differ(f.namespace, r.Namespace) || differ(f.resource, r.Resource.Resource) || differ(f.name, r.Name)
	}), nil
}
