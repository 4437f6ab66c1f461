package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"minikcm.dev/minikcm"
)

// defaultKubeconfig is where up writes and kubectl looks, unless told otherwise.
func defaultKubeconfig() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding the home directory for the kubeconfig (name a file with --kubeconfig instead): %w", err)
	}
	return filepath.Join(home, ".minikcm", "kubeconfig"), nil
}

// freeKubeconfigPath chooses the file for a new cluster's kubeconfig: the default,
// or one beside it while another cluster is running.
func freeKubeconfigPath(ctx context.Context, dataDir string) (string, error) {
	if dataDir != "" {
		return filepath.Join(dataDir, "kubeconfig"), nil
	}
	path, err := defaultKubeconfig()
	if err != nil {
		return "", err
	}
	if answers(ctx, path) {
		return fmt.Sprintf("%s-%d", path, os.Getpid()), nil
	}
	return path, nil
}

// dialTimeout is how long a server of this machine may take to accept.
const dialTimeout = time.Second

// answers reports whether something listens at the server of a kubeconfig.
func answers(ctx context.Context, path string) bool {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return false
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		return false
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", server.Host)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// isOurs reports whether a KUBECONFIG, which may list several files, is of a cluster of
// minikcm's: its current context is the one that minikcm writes.
func isOurs(env string) bool {
	rules := clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(env)}
	config, err := rules.Load()
	if err != nil {
		return false
	}
	return config.CurrentContext == minikcm.ContextName && config.Contexts[config.CurrentContext] != nil
}

// clientConfig is the client configuration of the cluster that is meant: of the kubeconfig
// that was named, of KUBECONFIG if that is of a cluster of minikcm's, of the cluster that
// "minikcm up" runs, or else of KUBECONFIG.
func clientConfig(ctx context.Context, path string) (*rest.Config, error) {
	if env := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); path == "" && !isOurs(env) {
		standard, err := defaultKubeconfig()
		switch {
		case env == "" && err != nil:
			return nil, err
		case env == "", err == nil && answers(ctx, standard):
			path = standard
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no kubeconfig %s: start a cluster with \"minikcm up\", or name a kubeconfig with --kubeconfig", path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig (name one with --kubeconfig): %w", err)
	}
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config, nil
}
