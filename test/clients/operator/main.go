// Command operator is a typical operator with controller-runtime and leader election. Its
// controller is in the package website.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"minikcm.dev/minikcm/test/clients/website"
)

func main() {
	// --kubeconfig is controller-runtime's own flag.
	identity := flag.String("name", "operator", "identity of this process in the statuses that it writes")
	release := flag.Bool("release", true, "give up the lease at the end")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseDevMode(true)))
	if err := run(*identity, *release); err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}

func run(identity string, release bool) error {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := website.AddToScheme(scheme); err != nil {
		return err
	}
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	// Short durations, so that a test does not wait long for the successor of a killed leader.
	lease, renew, retry := 4*time.Second, 3*time.Second, 500*time.Millisecond
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "websites.clients.example.com",
		LeaderElectionNamespace:       "default",
		LeaderElectionReleaseOnCancel: release,
		LeaseDuration:                 &lease,
		RenewDeadline:                 &renew,
		RetryPeriod:                   &retry,
	})
	if err != nil {
		return fmt.Errorf("creating the manager: %w", err)
	}
	if err := (&website.Reconciler{Identity: identity}).SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the controller: %w", err)
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
