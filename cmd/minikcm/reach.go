package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/reachapi"
	"minikcm.dev/minikcm/kubeletsim"
)

// reachFlags are the flags of minikcm reach.
type reachFlags struct {
	kubeconfig, objects, namespace, toNamespace, port, protocol, output, matrix, catalog string
}

func newReach() *cobra.Command {
	var f reachFlags
	cmd := &cobra.Command{
		Use:   "reach FROM TO[:PORT] | reach --matrix",
		Short: "Say whether a connection arrives, on which way, and which policy or rule decides",
		Long: `Say whether a program in FROM can connect to TO, and show the way: the name, the Service
and its endpoint, the NetworkPolicies that select either side with the rule that decides,
and what listens.

FROM is a pod (NAME or pod/NAME), a pod of a workload (deploy/NAME, sts/NAME, ds/NAME,
rs/NAME, job/NAME), a node (node/NAME), apiserver, outside, which is this machine as the
cluster sees it, or an IP address, which may be outside of the cluster.
TO is a name as the program uses it (web, web.shop, web.shop.svc.cluster.local), an IP
address, svc/NAME, or one of the forms of FROM. From outside of the cluster, svc/NAME is the
address of the Service's load balancer, its node port or an external IP. A port is a number
or a name (svc/web:http). Without one, it is the first one of the Service, or that the pod
declares, or 80. The URL of a request (http://shop.example/cart) also shows which rule of an
Ingress decides about it.

With --matrix, say it for all workloads (or namespaces) towards each other: each port that a
destination declares, or --port. A workload is asked about by its first pod, and 203.0.113.1
stands for what is outside of the cluster. A row is a source; the columns have the numbers of
the rows. A cell has the ports that are reached or, without one, "denied" if NetworkPolicies
deny it, and "-" if nothing listens; lines below the table say so. -o html has the reasons
as tooltips.

The question is about the cluster that "minikcm up" runs or, with --from-objects, about
one that exists elsewhere: the objects of "kubectl get -A -o yaml" of pods, services,
endpointslices, networkpolicies, namespaces and nodes. ConfigMaps with image profiles and
the catalog of images say on which ports programs listen.

The exit code is 0 if the connection arrives, 1 if it does not, 2 for a question that cannot
be read, and 3 if TO is outside of the cluster.`,
		Example: `  minikcm reach deploy/web db:5432
  minikcm reach pod/client svc/web -n shop -o json
  minikcm reach outside svc/web:http
  minikcm reach 203.0.113.7 node/node-0:30080
  minikcm reach pod/client http://shop.example/cart
  kubectl get -A -o yaml pods,svc,endpointslices,networkpolicies,ns,nodes > dump.yaml
  minikcm reach deploy/web db:5432 --from-objects dump.yaml
  minikcm reach --matrix -n shop,billing
  minikcm reach --matrix=namespace -o html --from-objects dump.yaml > matrix.html`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case f.matrix != "" && len(args) > 0:
				return fmt.Errorf("--matrix asks about all workloads, but got %q", args[0])
			case f.matrix == "" && len(args) != 2:
				return fmt.Errorf("\"minikcm reach\" needs a source and a destination, such as deploy/web db:5432, but got %d arguments", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return nil, noFiles },
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the running cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	cmd.Flags().StringVar(&f.objects, "from-objects", "", "answer for the objects in this file or folder, as \"kubectl get -o yaml\" prints them, or - for standard input")
	cmd.Flags().StringVar(&f.catalog, "image-catalog", "", "with --from-objects: what is known of images that no ConfigMap describes, as for \"minikcm up\": none, or a file (default the catalog that \"minikcm images\" lists)")
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "default", "namespace of FROM, and of TO unless --to-namespace is given; with --matrix: the namespaces to ask about, separated by commas (default all)")
	cmd.Flags().StringVar(&f.toNamespace, "to-namespace", "", "namespace of TO, if it is an object")
	cmd.Flags().StringVar(&f.protocol, "protocol", "", "protocol: TCP, UDP or SCTP (default that of a port that is named, or TCP)")
	cmd.Flags().StringVar(&f.port, "port", "", "number or name of the port of TO, if TO has none; with --matrix: of every destination (default: each port that it declares)")
	cmd.Flags().StringVar(&f.matrix, "matrix", "", "ask about all connections: each workload, or each namespace, is a row and a column")
	cmd.Flags().Lookup("matrix").NoOptDefVal = "workload"
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "output format: json, or html with --matrix (default text)")
	cmd.MarkFlagsMutuallyExclusive("kubeconfig", "from-objects")
	cmd.MarkFlagsMutuallyExclusive("kubeconfig", "image-catalog")
	return cmd
}

// run answers a question about one connection, or about all.
func (f *reachFlags) run(cmd *cobra.Command, args []string) error {
	protocol, err := reach.ParseProtocol(f.protocol)
	if err != nil {
		return badInput{fmt.Errorf("--protocol: %w", err)}
	}
	if _, err := reach.ParsePort(f.port); err != nil {
		return badInput{fmt.Errorf("--port: %w", err)}
	}
	if f.matrix != "" {
		ask := &reach.MatrixAsk{Port: f.port, Protocol: protocol}
		if cmd.Flags().Changed("namespace") {
			ask.Namespaces = strings.Split(f.namespace, ",")
		}
		if ask.ByNamespace, err = reach.ParseMatrixBy(f.matrix); err != nil {
			return badInput{fmt.Errorf("--matrix: %w", err)}
		}
		return reachMatrix(cmd, f, ask)
	}
	if f.output != "" && f.output != "json" {
		return badInput{fmt.Errorf("--output=%s: must be json, or omitted", f.output)}
	}
	ask := &reach.Ask{Namespace: f.namespace, ToNamespace: f.toNamespace, From: args[0], To: args[1], Port: f.port, Protocol: protocol}
	report, err := askReach(cmd, f, ask, kubeletsim.ReachIn, reachapi.Path, reachapi.Get)
	if err != nil {
		return err
	}
	return printReach(cmd.OutOrStdout(), report, f.output)
}

// askReach answers a question about the objects in a file or, if none is named, about a running cluster, which is asked at a path.
func askReach[Ask, Answer any](
	cmd *cobra.Command, f *reachFlags, ask *Ask, in func(string, iter.Seq[*unstructured.Unstructured], *Ask) (*Answer, error),
	path string, get func(context.Context, rest.Interface, *Ask) (*Answer, error),
) (*Answer, error) {
	if f.objects == "" {
		_, client, err := clusterOf(cmd.Context(), f.kubeconfig)
		if err != nil {
			return nil, err
		}
		answer, err := get(cmd.Context(), client.CoreV1().RESTClient(), ask)
		return answer, fromCluster(path, err)
	}
	d, err := dump.Read([]string{f.objects}, cmd.InOrStdin())
	if err != nil {
		return nil, badInput{err}
	}
	catalog, err := readCatalog(f.catalog)
	if err == nil && f.catalog != "" {
		if _, err = kubeletsim.ImageCatalog(catalog); err != nil {
			err = fmt.Errorf("--image-catalog: %w", err)
		}
	}
	if err != nil {
		return nil, badInput{err}
	}
	answer, err := in(catalog, d.Objects(), ask)
	var invalid *reach.InvalidError
	var missing *reach.NotFoundError
	if errors.As(err, &invalid) || errors.As(err, &missing) { // the objects cannot answer it
		return nil, badInput{fmt.Errorf("%s: %w", f.objects, err)}
	}
	return answer, err
}

// fromCluster returns an error of a running cluster; a question that it refuses is bad input.
func fromCluster(path string, err error) error {
	var status *apierrors.StatusError
	switch {
	case apierrors.IsBadRequest(err):
		return badInput{err}
	case errors.As(err, &status) && apierrors.IsNotFound(err) && (status.ErrStatus.Details == nil || status.ErrStatus.Details.Kind != reachapi.Feature):
		return fmt.Errorf("the cluster does not serve %s: run it with this version of \"minikcm up\"", path)
	case apierrors.IsNotFound(err):
		return badInput{err}
	}
	return err
}

func printReach(out io.Writer, report *reach.Report, output string) error {
	if output == "json" {
		if err := printJSON(out, report); err != nil {
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
