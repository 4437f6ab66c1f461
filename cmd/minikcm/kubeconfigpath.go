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

	"minikcm.dev/minikcm"
)

// ownFolder returns the folder in the user's home directory that has the kubeconfig of the first cluster, and
// the registrations and logs of all.
func ownFolder() (string, error) {
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".minikcm"), err
}

// defaultKubeconfig is the default path of the kubeconfig that "up" writes and "kubectl"
// reads.
func defaultKubeconfig() (string, error) {
	dir, err := ownFolder()
	if err != nil {
		return "", fmt.Errorf("finding the home directory for the kubeconfig (give a file with --kubeconfig instead): %w", err)
	}
	return filepath.Join(dir, "kubeconfig"), nil
}

// checkUnused returns an error for a kubeconfig that leads to another running cluster, which without it could
// be neither used nor stopped.
func checkUnused(kubeconfig string) error {
	kubeconfig, err := filepath.Abs(kubeconfig)
	if err != nil {
		return err
	}
	running, err := runningClusters()
	if err != nil {
		return nil // a cluster needs no registry
	}
	for i := range running {
		// A registration with the number of this process is an earlier one's, which was killed.
		if c := &running[i]; c.Kubeconfig == kubeconfig && c.PID != os.Getpid() {
			return badInput{fmt.Errorf("%s is the kubeconfig of the running cluster %s: stop that with \"minikcm down %s\", or choose another path", kubeconfig, c.Name, c.Name)}
		}
	}
	return nil
}

// freeKubeconfigPath returns the path for a new cluster's kubeconfig: the file in the data
// directory, or else the default path with "-name" appended, or else the default path. While
// another cluster uses the default path, it is that path with the process ID appended.
func freeKubeconfigPath(ctx context.Context, dataDir, name string) (string, error) {
	if dataDir != "" {
		return filepath.Join(dataDir, "kubeconfig"), nil
	}
	path, err := defaultKubeconfig()
	if err != nil {
		return "", err
	}
	if name != "" {
		return path + "-" + name, nil
	}
	if answers(ctx, path) {
		return fmt.Sprintf("%s-%d", path, os.Getpid()), nil
	}
	return path, nil
}

// dialTimeout bounds the connection to a server on this machine.
const dialTimeout = time.Second

// answers reports whether the server of a kubeconfig accepts connections.
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

// isOurs reports whether a KUBECONFIG, which may list several files, selects a minikcm
// cluster: its current context, or the cluster of that context, is the one that minikcm
// writes.
func isOurs(env string) bool {
	rules := clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(env)}
	config, err := rules.Load()
	if err != nil {
		return false
	}
	current := config.Contexts[config.CurrentContext]
	return current != nil && (config.CurrentContext == minikcm.ContextName || current.Cluster == minikcm.ContextName)
}
