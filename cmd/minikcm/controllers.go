package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/featuregates"
)

func newControllers() *cobra.Command {
	var kubeconfig, output string
	cmd := &cobra.Command{
		Use:   "controllers [NAME...]",
		Short: "Show the state of a running cluster's controllers",
		Long: `List the controllers of the cluster that "minikcm up" runs: their state, how many keys
are queued, in progress and retried, how often each controller was restarted, and its
last error. Arguments select controllers by name or alias.`,
		Example: `  minikcm controllers
  minikcm controllers deployment replicaset -o wide
  minikcm controllers -o yaml`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return controllers.Names(), noFiles
		},
		RunE: func(cmd *cobra.Command, names []string) error {
			show, ok := controllerPrinters()[output]
			if !ok {
				return badInput{fmt.Errorf("--output=%s: must be wide, json or yaml, or omitted", output)}
			}
			all, err := controllersOf(cmd.Context(), kubeconfig)
			if err != nil {
				return err
			}
			chosen, err := chooseControllers(all, names)
			if err != nil {
				return err
			}
			return show(cmd.OutOrStdout(), chosen)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the running cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: wide, json or yaml (default a table)")
	return cmd
}

// clusterOf returns the configuration of a kubeconfig's cluster and a client for it.
func clusterOf(ctx context.Context, kubeconfig string) (*rest.Config, *kubernetes.Clientset, error) {
	config, err := clientConfig(ctx, kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("creating a client for the cluster: %w", err)
	}
	return config, client, nil
}

// controllersOf gets the state of the controllers from a kubeconfig's cluster.
func controllersOf(ctx context.Context, kubeconfig string) ([]controllers.Status, error) {
	config, client, err := clusterOf(ctx, kubeconfig)
	if err != nil {
		return nil, err
	}
	return controllersAt(ctx, config, client)
}

func controllersAt(ctx context.Context, config *rest.Config, client *kubernetes.Clientset) ([]controllers.Status, error) {
	data, err := client.Discovery().RESTClient().Get().AbsPath("/minikcm/v1/controllers").SetHeader("Accept", "application/json").DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("the cluster at %s is not a minikcm cluster: it does not serve the state of its controllers", config.Host)
	}
	if err != nil {
		return nil, fmt.Errorf("asking the cluster at %s for its controllers: %w", config.Host, err)
	}
	var all []controllers.Status
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("decoding the state of the controllers from the cluster at %s: %w", config.Host, err)
	}
	return all, nil
}

// chooseControllers selects controllers by name or alias. No names select all of them.
func chooseControllers(all []controllers.Status, names []string) ([]controllers.Status, error) {
	if len(names) == 0 {
		return all, nil
	}
	canonical, err := controllers.ParseSelection(strings.Join(names, ","), featuregates.On(featuregates.GenericWorkload, featuregates.DRAResourcePoolStatus, featuregates.StorageVersionAPI))
	if err != nil {
		return nil, badInput{err}
	}
	var chosen []controllers.Status
	for _, s := range all {
		for _, name := range canonical {
			if s.Name == name {
				chosen = append(chosen, s)
			}
		}
	}
	return chosen, nil
}

func controllerPrinters() map[string]func(io.Writer, []controllers.Status) error {
	table := func(wide bool) func(io.Writer, []controllers.Status) error {
		return func(w io.Writer, all []controllers.Status) error {
			return printControllers(w, all, wide, clock.Real().Now())
		}
	}
	return map[string]func(io.Writer, []controllers.Status) error{
		"": table(false), "wide": table(true),
		"json": func(w io.Writer, all []controllers.Status) error {
			return printJSON(w, all)
		},
		"yaml": func(w io.Writer, all []controllers.Status) error {
			return printYAML(w, all)
		},
	}
}

// printControllers prints a table. Ages are relative to now, which is machine time; with a scaled
// clock, they therefore differ from ages on the cluster's clock.
func printControllers(w io.Writer, all []controllers.Status, wide bool, now time.Time) error {
	table := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	header := "NAME\tSTATE\tQUEUED\tRUNNING\tRETRIES\tRESTARTS\tERROR AGE\tLAST ERROR"
	if wide {
		header = "NAME\tSTATE\tWORKERS\tQUEUED\tRUNNING\tLONGEST\tRECONCILES\tFAILURES\tPANICS\tRETRIES\tRESTARTS\tFAILING\tERROR AGE\tLAST ERROR"
	}
	_, _ = fmt.Fprintln(table, header)
	for i := range all {
		s := &all[i]
		age, text := lastError(s, wide, now)
		if !wide {
			_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\n", s.Name, s.State, s.Queued, len(s.InProgress), s.Retries, s.Restarts, age, text)
			continue
		}
		longest, workers := "<none>", "<default>"
		if len(s.InProgress) > 0 {
			first := s.InProgress[0]
			longest = fmt.Sprintf("%s (%s)", first.Key, duration.HumanDuration(now.Sub(first.Since.Time)))
		}
		if s.Workers > 0 {
			workers = fmt.Sprint(s.Workers)
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", s.Name, s.State, workers, s.Queued, len(s.InProgress), longest,
			s.Reconciles, s.Failures, s.Panics, s.Retries, s.Restarts, failingKeys(s.Failing), age, text)
	}
	return table.Flush()
}

// errorWidth caps the length of an error in the table, in characters.
const errorWidth = 60

func lastError(s *controllers.Status, wide bool, now time.Time) (age, text string) {
	if s.LastError == nil {
		return "<none>", "<none>"
	}
	text = s.LastError.Message
	if s.LastError.Key != "" {
		text = s.LastError.Key + ": " + text
	}
	text = strings.Join(strings.Fields(text), " ")
	if letters := []rune(text); !wide && len(letters) > errorWidth {
		text = string(letters[:errorWidth-3]) + "..."
	}
	return duration.HumanDuration(now.Sub(s.LastError.Time.Time)), text
}

func failingKeys(failing []controllers.Failing) string {
	if len(failing) == 0 {
		return "<none>"
	}
	texts := make([]string, len(failing))
	for i, f := range failing {
		texts[i] = fmt.Sprintf("%s (%d)", f.Key, f.Failures)
	}
	return strings.Join(texts, ",")
}
