package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/internal/outside"
)

func newOpen() *cobra.Command {
	var kubeconfig, namespace, port string
	var urlOnly bool
	cmd := &cobra.Command{
		Use:   "open svc/NAME|ingress/NAME",
		Short: "Open a published Service or an Ingress in the browser",
		Long: `Print the URL on this machine of a Service that "minikcm up --publish" publishes (one of type
LoadBalancer or NodePort), and open it in the browser.

Of an Ingress of the simulated router, it is the URL of its first rule. If that has a host
which this machine does not resolve to the published address, a line says how to reach it.`,
		Example: `  minikcm open svc/web
  minikcm open ingress/shop
  curl -s $(minikcm open svc/web -n shop --port metrics --url)`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("\"minikcm open\" needs a Service or an Ingress, such as svc/web, but got %d arguments", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return nil, noFiles },
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, name, isObject := strings.Cut(args[0], "/")
			if !isObject {
				kind, name = "svc", args[0]
			}
			link, hint := "", ""
			var err error
			switch lower := strings.ToLower(kind); {
			case name == "":
				err = badInput{fmt.Errorf("%q names nothing: use svc/NAME or ingress/NAME", args[0])}
			case slices.Contains([]string{"svc", "service", "services"}, lower):
				link, err = serviceLink(cmd.Context(), kubeconfig, namespace, name, port)
			case slices.Contains([]string{"ing", "ingress", "ingresses"}, lower):
				link, hint, err = ingressLink(cmd.Context(), kubeconfig, namespace, name)
			default:
				err = badInput{fmt.Errorf("%q is neither a Service nor an Ingress, such as svc/web or ingress/shop", args[0])}
			}
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), link); err != nil || urlOnly {
				return err
			}
			if hint != "" {
				_, err := fmt.Fprintln(cmd.ErrOrStderr(), hint)
				return err
			}
			openLink(cmd.ErrOrStderr(), link)
			return nil
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the running cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "default", "namespace of the Service or Ingress")
	cmd.Flags().StringVar(&port, "port", "", "name or number of the Service's port (default its first)")
	cmd.Flags().BoolVar(&urlOnly, "url", false, "only print the URL")
	return cmd
}

// serviceLink returns the URL of a Service's port on this machine.
func serviceLink(ctx context.Context, kubeconfig, namespace, name, port string) (string, error) {
	_, client, err := clusterOf(ctx, kubeconfig)
	if err != nil {
		return "", err
	}
	service, err := client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", badInput{fmt.Errorf("service %s/%s not found", namespace, name)}
	}
	if err != nil {
		return "", fmt.Errorf("getting service %s/%s: %w", namespace, name, err)
	}
	return publishedLink(ctx, client, service, port)
}

// publishedLink returns the URL of a published port of a Service.
func publishedLink(ctx context.Context, client kubernetes.Interface, service *corev1.Service, port string) (string, error) {
	namespace, name := service.Namespace, service.Name
	entrances, err := outside.Get(ctx, client.Discovery().RESTClient())
	if err != nil {
		return "", err
	}
	if !entrances.Publishes {
		return "", fmt.Errorf("the cluster does not publish Services: start it with \"minikcm up --publish\", or use \"kubectl port-forward -n %s svc/%s\"", namespace, name)
	}
	problem := fmt.Sprintf("it has the type %s; Services of the types LoadBalancer and NodePort are published", service.Spec.Type)
	if service.Spec.Type == corev1.ServiceTypeLoadBalancer {
		problem = "it has no address yet"
	}
	for i := range entrances.Services { // addresses of load balancers come first
		p := &entrances.Services[i]
		switch {
		case p.Namespace != namespace || p.Service != name || p.Protocol == corev1.ProtocolUDP:
		case port != "" && port != p.PortName && port != strconv.Itoa(int(p.Port)):
			problem = "it has no TCP port " + port
		case p.Address == "":
			problem = p.Problem
		default:
			return schemeOf(p) + "://" + p.Address, nil
		}
	}
	return "", fmt.Errorf("service %s/%s is not published: %s", namespace, name, problem)
}

// schemeOf guesses the protocol of a port.
func schemeOf(p *outside.Published) string {
	if p.Port == 443 || p.Port == 8443 || strings.HasPrefix(p.PortName, "https") {
		return "https"
	}
	return "http"
}
