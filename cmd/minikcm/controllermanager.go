package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/internal/auth"
	managerprocess "minikcm.dev/minikcm/internal/controllerprocess"
)

func newControllerManager() *cobra.Command {
	opts := managerprocess.NewOptions()
	opts.Tokens = signTokens
	cmd := &cobra.Command{
		Use:   "controller-manager",
		Short: "Run the controllers against an existing cluster",
		Long: `Run only the controllers, against the cluster of a kubeconfig: a minikcm cluster that was
started with --controllers=-*, or any other cluster. If several processes run, they elect
a leader; when it stops, another one takes over. The flags are those flags of
kube-controller-manager that have an effect here.`,
		Example: `  minikcm up --controllers=-* --kubeconfig ./kc
  minikcm controller-manager --kubeconfig ./kc`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if opts.Kubeconfig, err = managerKubeconfig(opts.Kubeconfig); err != nil {
				return err
			}
			if err := applyLogging(cmd, opts); err != nil {
				return err
			}
			return managerprocess.Run(cmd.Context(), opts, cmd.Flags().Changed("secure-port"), cmd.ErrOrStderr())
		},
	}
	sets := opts.Flags()
	for _, name := range sets.Order {
		cmd.Flags().AddFlagSet(sets.FlagSets[name])
	}
	showSections(cmd, func() *cliflag.NamedFlagSets { return sets })
	return cmd
}

// signTokens returns a signer of legacy ServiceAccount tokens with the key in pem, as the
// token controller of a minikcm cluster has it.
func signTokens(pem []byte) (func(account *corev1.ServiceAccount, secret string) (string, error), error) {
	key, err := auth.LoadTokenKey(pem)
	if err != nil {
		return nil, err
	}
	return key.IssueLegacy, nil
}

// applyLogging applies component-base's logging flags if at least one of them was given.
// Otherwise --log-level applies.
func applyLogging(cmd *cobra.Command, opts *managerprocess.Options) error {
	given := false
	opts.Flags().FlagSet("logs").VisitAll(func(f *pflag.Flag) { given = given || cmd.Flags().Changed(f.Name) })
	if !given {
		return nil
	}
	klog.SetOutput(cmd.ErrOrStderr())
	gate := featuregate.NewFeatureGate()
	if err := logsapi.AddFeatureGates(gate); err != nil {
		return fmt.Errorf("setting up logging: %w", err)
	}
	return logsapi.ValidateAndApply(opts.Logs, gate)
}

// managerKubeconfig returns the kubeconfig to use: path, or "" to use KUBECONFIG if it is
// set, or else the file that "minikcm up" writes.
func managerKubeconfig(path string) (string, error) {
	if path == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		return defaultKubeconfig()
	}
	return path, nil
}
