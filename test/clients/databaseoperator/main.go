// Command databaseoperator is an operator with webhooks. Its controller and webhooks are in
// the package database.
package main

import (
	"flag"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"minikcm.dev/minikcm/test/clients/database"
	v1 "minikcm.dev/minikcm/test/clients/database/v1"
	"minikcm.dev/minikcm/test/clients/database/v1alpha1"
)

func main() {
	// --kubeconfig is controller-runtime's own flag.
	port := flag.Int("webhook-port", 9443, "port of the webhook server")
	certs := flag.String("webhook-cert-dir", "", "folder with tls.crt and tls.key")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseDevMode(true)))
	if err := run(*port, *certs); err != nil {
		fmt.Fprintln(os.Stderr, "databaseoperator:", err)
		os.Exit(1)
	}
}

func run(port int, certs string) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:        scheme,
		Metrics:       metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: certs}),
	})
	if err != nil {
		return fmt.Errorf("creating the manager: %w", err)
	}
	if err := database.SetupWithManager(mgr); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
