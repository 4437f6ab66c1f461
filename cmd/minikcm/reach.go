package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/reachapi"
	"minikcm.dev/minikcm/kubeletsim"
)

func newReach() *cobra.Command {
	var kubeconfig, objects, namespace, toNamespace, protocol, output string
	cmd := &cobra.Command{
		Use:   "reach FROM TO[:PORT]",
		Short: "Say whether a connection arrives, on which way, and which policy or rule decides",
		Long: `Say whether a program in FROM can connect to TO, and show the way: the name, the Service
and its endpoint, the NetworkPolicies that select either side with the rule that decides,
and what listens.

FROM is a pod (NAME or pod/NAME), a pod of a workload (deploy/NAME, sts/NAME, ds/NAME,
rs/NAME, job/NAME), a node (node/NAME) or an IP address, which may be outside of the cluster.
TO is a name as the program uses it (web, web.shop, web.shop.svc.cluster.local), an IP
address, svc/NAME, or one of the forms of FROM. Without a port, it is the first one of the
Service, or that the pod declares, or 80.

The question is about the cluster that "minikcm up" runs or, with --from-objects, about
one that exists elsewhere: the objects of "kubectl get -A -o yaml" of pods, services,
endpointslices, networkpolicies, namespaces and nodes.

The exit code is 0 if the connection arrives, 1 if it does not, 2 for a question that cannot
be read, and 3 if TO is outside of the cluster.`,
		Example: `  minikcm reach deploy/web db:5432
  minikcm reach pod/client svc/web -n shop -o json
  minikcm reach 203.0.113.7 node/node-0:30080
  kubectl get -A -o yaml pods,svc,endpointslices,networkpolicies,ns,nodes > dump.yaml
  minikcm reach deploy/web db:5432 --from-objects dump.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("\"minikcm reach\" needs a source and a destination, such as deploy/web db:5432, but got %d arguments", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return nil, noFiles },
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "" && output != "json" {
				return badInput{fmt.Errorf("--output=%s: must be json, or omitted", output)}
			}
			ask := &reach.Ask{Namespace: namespace, ToNamespace: toNamespace, From: args[0], To: args[1]}
			var err error
			if ask.Protocol, err = reach.ParseProtocol(protocol); err != nil {
				return badInput{fmt.Errorf("--protocol: %w", err)}
			}
			var report *reach.Report
			if objects != "" {
				report, err = reachIn(cmd.InOrStdin(), objects, ask)
			} else {
				report, err = reachAt(cmd.Context(), kubeconfig, ask)
			}
			if err != nil {
				return err
			}
			return printReach(cmd.OutOrStdout(), report, output)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the running cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	cmd.Flags().StringVar(&objects, "from-objects", "", "answer for the objects in this file or folder, as \"kubectl get -o yaml\" prints them, or - for standard input")
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "default", "namespace of FROM, and of TO unless --to-namespace is given")
	cmd.Flags().StringVar(&toNamespace, "to-namespace", "", "namespace of TO, if it is an object")
	cmd.Flags().StringVar(&protocol, "protocol", "TCP", "protocol: TCP, UDP or SCTP")
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json (default text)")
	cmd.MarkFlagsMutuallyExclusive("kubeconfig", "from-objects")
	return cmd
}

// reachIn answers a question about the objects in a file.
func reachIn(in io.Reader, path string, ask *reach.Ask) (*reach.Report, error) {
	d, err := dump.Read([]string{path}, in)
	if err != nil {
		return nil, badInput{err}
	}
	report, err := kubeletsim.ReachIn(d.Objects(), ask)
	var invalid *reach.InvalidError
	var missing *reach.NotFoundError
	if errors.As(err, &invalid) || errors.As(err, &missing) {
		return nil, badInput{fmt.Errorf("%s: %w", path, err)}
	}
	return report, err
}

// reachAt answers a question about a running cluster.
func reachAt(ctx context.Context, kubeconfig string, ask *reach.Ask) (*reach.Report, error) {
	_, client, err := clusterOf(ctx, kubeconfig)
	if err != nil {
		return nil, err
	}
	report, err := reachapi.Get(ctx, client.CoreV1().RESTClient(), ask)
	var status *apierrors.StatusError
	switch {
	case apierrors.IsBadRequest(err):
		return nil, badInput{err}
	case errors.As(err, &status) && apierrors.IsNotFound(err) && (status.ErrStatus.Details == nil || status.ErrStatus.Details.Kind != reachapi.Feature):
		return nil, fmt.Errorf("the cluster does not serve %s: run it with this version of \"minikcm up\"", reachapi.Path)
	case apierrors.IsNotFound(err):
		return nil, badInput{err}
	}
	return report, err
}

func printReach(out io.Writer, report *reach.Report, output string) error {
	if output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(report); err != nil {
			return err
		}
	} else if _, err := io.WriteString(out, report.Text()); err != nil {
		return err
	}
	switch {
	case report.Reached:
		return nil
	case report.Outcome == reach.Unknown:
		return exitCode(uncertain)
	}
	return exitCode(1)
}
