// Code generated from examples/discoveryclient/main.go by go generate. DO NOT EDIT.

package examples

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// The program discoveryclient prints what a server can do with the kinds of a group, as "kubectl
// api-resources" does: clients that take any kind ask the server which resource it is.
func discoveryclient(_ context.Context, config *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	version, err := client.ServerVersion()
	if err != nil {
		return err
	}
	fmt.Println("server", version.GitVersion)
	resources, err := client.ServerResourcesForGroupVersion("apps/v1")
	if err != nil {
		return err
	}
	for i := range resources.APIResources {
		r := &resources.APIResources[i]
		fmt.Printf("%s (%s): %s\n", r.Name, r.Kind, strings.Join(r.Verbs, " "))
	}
	return nil
}
