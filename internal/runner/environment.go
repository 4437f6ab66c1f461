package runner

import (
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Variables that the command gets.
const (
	// RootVariable names the folder with the content of the container's volumes, at their paths
	// in the container.
	RootVariable       = "MINIKCM_ROOT"
	kubeconfigVariable = "KUBECONFIG"
)

// ofMachine are the variables whose values in the container make no sense on this machine.
var ofMachine = []string{"PATH", "HOME", "PWD", "OLDPWD", "SHLVL", "TERM", "_"}

// environment returns the command's variables. They come from this machine, the container and
// place; a later source overrides an earlier one. This machine's variables that concern a cluster
// are left out.
func environment(machine, container []string, place map[string]string) []string {
	vars := map[string]string{}
	for _, pair := range machine {
		name, value, _ := strings.Cut(pair, "=")
		if name != kubeconfigVariable && !strings.HasPrefix(name, "KUBERNETES_") {
			vars[name] = value
		}
	}
	for _, pair := range container {
		name, value, _ := strings.Cut(pair, "=")
		if name != "" && !slices.Contains(ofMachine, name) {
			vars[name] = value
		}
	}
	maps.Copy(vars, place)
	var env []string
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}

// apiVariables returns the variables with the address of the API server, as this machine reaches
// it.
func apiVariables(server string) map[string]string {
	address, err := url.Parse(server)
	if err != nil || address.Host == "" {
		return map[string]string{}
	}
	port := address.Port()
	if port == "" {
		port = "443"
	}
	return map[string]string{
		"KUBERNETES_SERVICE_HOST": address.Hostname(), "KUBERNETES_SERVICE_PORT": port, "KUBERNETES_SERVICE_PORT_HTTPS": port,
		"KUBERNETES_PORT": "tcp://" + net.JoinHostPort(address.Hostname(), port),
	}
}
