package examples

import (
	"context"

	"k8s.io/client-go/rest"
)

// Program is an example. It prints to the standard output, and may change config.
type Program struct {
	Name string
	// Shows says in a few words what the example is about.
	Shows string
	// Run runs it until it has finished or ctx ends.
	Run func(ctx context.Context, config *rest.Config) error
}

// Programs returns the examples in the order in which they are learned.
func Programs() []Program {
	return []Program{
		{"restclient", "list pods with a RESTClient, which all other clients are made of", restclient},
		{"clientset", "scale the Deployment web with a clientset, again after a conflict", clientset},
		{"dynamicclient", "annotate the Deployment web with a dynamic client, which knows no types", dynamicclient},
		{"discoveryclient", "print what the server can do with the kinds of apps/v1", discoveryclient},
		{"watchstream", "print the lines of a watch of ConfigMaps as they arrive", watchstream},
		{"podinformer", "follow pods with an informer that is put together by hand", podinformer},
		{"ingressmanager", "give Services with the annotation ingress/http=true an Ingress", ingressmanager},
	}
}
