package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/containerpaths"
	"minikcm.dev/minikcm/internal/runner"
	"minikcm.dev/minikcm/internal/scenario/faultapi"
	"minikcm.dev/minikcm/scenarios/fault"
)

func newRunDeployment() *cobra.Command {
	var kubeconfig, namespace, container string
	var ports []string
	var probes, paths, proxy bool
	cmd := &cobra.Command{
		Use:   "run-deployment NAME [flags] -- COMMAND [ARG...]",
		Short: "Run a command in place of a pod of a Deployment",
		Long: `Run a command of this machine in place of one pod of a Deployment, until Ctrl-C. Other
pods of the Deployment stay simulated.

The command gets the environment of the pod's container, and KUBECONFIG with the
credentials of its service account. MINIKCM_ROOT is a folder with the files of the
container's volumes: what the container has in /etc/app is in $MINIKCM_ROOT/etc/app. The
files follow changes of Secrets and ConfigMaps. In the arguments, $(NAME) is a variable,
as in those of a container.

The pod's address and the Services that select it lead to the command: port 8080 of the
container is 127.0.0.1:8080. So do the probes of the container: the pod is ready when the
command answers its readiness probe. The command reaches Services by name, from the pod's
address, through the proxy in its environment (HTTP_PROXY and others).

When the command exits, the container ends with its exit code, and the command is started
again when the container is. When the container is stopped, as after a failed liveness
probe, the command gets SIGTERM and, after the grace period of the pod, SIGKILL. "kubectl
logs" shows its output. Ctrl-C stops the command and restores the Services.`,
		Example: `  minikcm run-deployment shop-operator -n shop -- bin/manager
  minikcm run-deployment web --port 8080=18080 -- sh -c 'exec server --config "$MINIKCM_ROOT/etc/web/config.yaml"'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() == 1 && len(args) > 1 {
				return nil
			}
			return fmt.Errorf("%q needs the name of a Deployment and, after --, a command to run, such as\n%s", cmd.CommandPath(), cmd.Example)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			mapped, err := parsePorts(ports)
			if err != nil {
				return badInput{err}
			}
			if err := containerpaths.Supported(); paths && err != nil {
				return badInput{fmt.Errorf("--container-paths: %w; without it, the files are beneath $MINIKCM_ROOT", err)}
			}
			config, err := clientConfig(cmd.Context(), kubeconfig)
			if err != nil {
				return err
			}
			faults, err := faultapi.NewClient(config)
			if err != nil {
				return err
			}
			if _, err := faults.Info(cmd.Context()); err != nil {
				return err
			}
			err = runner.Run(cmd.Context(), runner.Options{
				Config: config, Namespace: namespace, Deployment: strings.TrimPrefix(args[0], "deployment/"), Container: container,
				Command: args[1:], Ports: mapped, SimulatedProbes: !probes, NoProxy: !proxy, ContainerPaths: paths, Exit: exiting(faults), Out: cmd.OutOrStdout(), ErrOut: cmd.ErrOrStderr(), Clock: clock.Real(),
				Say: func(message string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), "minikcm: "+message) },
			})
			if isMissing(err, "deployments") {
				return badInput{err}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the running cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "default", "namespace of the Deployment")
	cmd.Flags().StringVarP(&container, "container", "c", "", "container that the command stands for (default that of the annotation kubectl.kubernetes.io/default-container, or the first)")
	cmd.Flags().StringSliceVar(&ports, "port", nil, "port of the container and the port that the command listens on instead, such as 9443=19443; may be given several times")
	cmd.Flags().BoolVar(&probes, "probes", true, "let the command answer the probes of the container; if false, they are simulated, as is better under a debugger")
	cmd.Flags().BoolVar(&proxy, "proxy", true, "give the command a proxy (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY) through which it reaches Services by name, as its pod does")
	cmd.Flags().BoolVar(&paths, "container-paths", false, "show the command its volumes at their paths in the container as well, in a mount namespace of its own; needs Linux, and user namespaces or root")
	return cmd
}

// parsePorts reads pairs of ports.
func parsePorts(pairs []string) (map[int32]int32, error) {
	ports := map[int32]int32{}
	for _, pair := range pairs {
		from, to, _ := strings.Cut(pair, "=")
		of, err := strconv.ParseUint(from, 10, 16)
		at, atErr := strconv.ParseUint(to, 10, 16)
		if errors.Join(err, atErr) != nil || of == 0 || at == 0 {
			return nil, fmt.Errorf("--port=%s: must be two ports, such as 9443=19443", pair)
		}
		ports[int32(of)] = int32(at)
	}
	return ports, nil
}

// exiting returns a function that ends a container of a pod with an exit code, by a fault.
func exiting(faults *faultapi.Client) func(ctx context.Context, pod types.NamespacedName, container string, code int) error {
	return func(ctx context.Context, pod types.NamespacedName, container string, code int) error {
		injected, err := faults.Inject(ctx, &fault.Fault{Pods: &fault.Pods{
			Action: fault.PodCrash, Namespace: pod.Namespace, Names: []string{pod.Name}, Container: container, ExitCode: ptr.To(code),
		}})
		if err != nil {
			return err
		}
		happened := errors.New("it has happened")
		last, err := faults.Follow(ctx, injected.ID, func(i *faultapi.Injection) error {
			if i.State != faultapi.Pending {
				return happened
			}
			return nil
		})
		if err != nil && !errors.Is(err, happened) {
			return err
		}
		if last.State == faultapi.Failed {
			return errors.New(last.Error)
		}
		return nil
	}
}
