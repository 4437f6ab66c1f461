package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/internal/ui"
)

func newUI() *cobra.Command {
	var kubeconfig string
	var look bool
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Print a new link to the live page of a running cluster",
		Long: `Print a link to the live page of the cluster that "minikcm up --ui" runs. The link opens
the page once, in a browser on this machine; the browser then stays admitted until it is
closed or the cluster ends. A page of a link with --look shows all, and can change nothing.`,
		Example: `  minikcm ui
  minikcm ui --look
  minikcm ui --kubeconfig ./kubeconfig`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			link, err := newLink(cmd.Context(), kubeconfig, look)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), link)
			return err
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the running cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	cmd.Flags().BoolVar(&look, "look", false, "print a link for an audience: its page may only look")
	return cmd
}

// newLink asks a running cluster for a link to its page.
func newLink(ctx context.Context, kubeconfig string, look bool) (string, error) {
	config, client, err := clusterOf(ctx, kubeconfig)
	if err != nil {
		return "", err
	}
	data, err := client.Discovery().RESTClient().Post().AbsPath(ui.Path).Param("look", strconv.FormatBool(look)).SetHeader("Accept", "application/json").DoRaw(ctx)
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return "", fmt.Errorf("the cluster at %s has no page: start it with \"minikcm up --ui\"", config.Host)
	}
	if err != nil {
		return "", fmt.Errorf("asking the cluster at %s for a link: %w", config.Host, err)
	}
	var opened ui.Opened
	if err := json.Unmarshal(data, &opened); err != nil || opened.Link == "" {
		return "", errors.Join(fmt.Errorf("the cluster at %s answered with no link", config.Host), err)
	}
	return opened.Link, nil
}
