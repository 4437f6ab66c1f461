package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
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
