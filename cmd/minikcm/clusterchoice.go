package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// choice is the cluster that a command uses.
type choice struct {
	config *rest.Config
	// name is the name of a cluster of "minikcm up" on this machine; empty: it is another cluster.
	name string
	// kubeconfig is the file that the choice comes from; several are separated by colons.
	kubeconfig string
	// guessed means that another cluster could be meant: neither a flag nor the variable selects this one, and several run.
	guessed bool
}

func (c *choice) String() string {
	text := c.config.Host
	if c.name != "" {
		text = c.name + " at " + text
	}
	return fmt.Sprintf("%s (kubeconfig %s)", text, c.kubeconfig)
}

// choose returns the cluster of the first of these that applies: the kubeconfig at path, or the
// running cluster of that name; KUBECONFIG, if it selects a minikcm cluster; the kubeconfig of a
// running "minikcm up", or of the only one that runs; KUBECONFIG. A path or a KUBECONFIG that cannot be
// read is badInput.
func choose(ctx context.Context, path string) (*choice, error) {
	running, _ := runningClusters() // without a registry none is known
	written, env := path != "", os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	path, err := chosenFile(ctx, path, running)
	if err != nil {
		return nil, err
	}
	guessed := !written && (env == "" && len(running) > 1 || env != "" && path != "")
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("the kubeconfig %s does not exist: %s", path, instead(running))
		if written {
			return nil, badInput{err}
		}
		return nil, err
	}
	if err != nil {
		return nil, badInput{fmt.Errorf("reading the kubeconfig (give one with --kubeconfig): %w", err)}
	}
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	c := &choice{config: config, kubeconfig: path, guessed: guessed}
	if path == "" {
		c.kubeconfig = env
	}
	for i := range running {
		if running[i].Server == config.Host {
			c.name = running[i].Name
		}
	}
	return c, nil
}

// chosenFile returns the kubeconfig that choose reads; empty: the files of KUBECONFIG.
func chosenFile(ctx context.Context, path string, running []runningCluster) (string, error) {
	if path != "" {
		return named(path, running), nil
	}
	env := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	if err := checkKubeconfigs(env); err != nil {
		return "", badInput{err}
	}
	if env != "" && isOurs(env) {
		return "", nil
	}
	standard, err := defaultKubeconfig()
	switch {
	case env == "" && err != nil:
		return "", err
	case env == "":
		return onlyOne(standard, running), nil
	case err == nil && answers(ctx, standard):
		return standard, nil
	}
	return "", nil
}

// checkKubeconfigs returns an error if KUBECONFIG, which may list several files, is set and has a file
// that cannot be read, or none that exists. As kubectl, it passes over missing ones among others.
func checkKubeconfigs(env string) error {
	found := false
	for _, file := range filepath.SplitList(env) {
		if file == "" {
			continue
		}
		_, err := clientcmd.LoadFromFile(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("KUBECONFIG=%s cannot be used: reading %s: %w", env, file, err)
		default:
			found = true
		}
	}
	if env != "" && !found {
		return fmt.Errorf("KUBECONFIG=%s does not exist: start the cluster that writes it, set KUBECONFIG to another file, or unset it to use the cluster of \"minikcm up\"", env)
	}
	return nil
}

// onlyOne returns the kubeconfig of the only running cluster if there is no file at path, and otherwise
// path.
func onlyOne(path string, running []runningCluster) string {
	if exists(path) || len(running) != 1 {
		return path
	}
	return running[0].Kubeconfig
}

// named returns the kubeconfig of the running cluster of that name, and otherwise path. A file comes
// before a name.
func named(path string, running []runningCluster) string {
	if exists(path) {
		return path
	}
	for i := range running {
		if running[i].Name == path {
			return running[i].Kubeconfig
		}
	}
	return path
}

// instead returns advice for commands without a kubeconfig: name a running cluster, or start one.
func instead(running []runningCluster) string {
	var names []string
	for i := range running {
		names = append(names, running[i].Name)
	}
	if len(names) == 0 {
		return "start a cluster with \"minikcm up\", or give a kubeconfig with --kubeconfig"
	}
	return fmt.Sprintf("other clusters run, which --kubeconfig selects by name: --kubeconfig %s", strings.Join(names, ", or --kubeconfig "))
}

// clientConfig returns the client configuration of the cluster that choose returns, and says which it
// is if another one could be meant.
func clientConfig(ctx context.Context, path string) (*rest.Config, error) {
	chosen, err := choose(ctx, path)
	if err != nil {
		return nil, err
	}
	if a, ok := ctx.Value(announcerKey{}).(*announcer); ok && chosen.guessed {
		a.once.Do(func() { _, _ = fmt.Fprintf(a.w, "Cluster: %s\n", chosen) }) // stderr cannot be reported elsewhere
	}
	return chosen.config, nil
}

// announcer says once which cluster a command uses.
type announcer struct {
	w    io.Writer
	once sync.Once
}

type announcerKey struct{}

// announcing lets a command say which cluster it uses, on stderr, unless its output is for programs.
func announcing(cmd *cobra.Command) {
	if output := cmd.Flags().Lookup("output"); output != nil && output.Changed && output.Value.String() != "wide" {
		return
	}
	cmd.SetContext(context.WithValue(cmd.Context(), announcerKey{}, &announcer{w: cmd.ErrOrStderr()}))
}
