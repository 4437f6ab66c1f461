package apiserver

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"minikcm.dev/minikcm/apiserver/internal/apiservices"
)

// newScheme returns a scheme with the built-in kinds: the kinds of k8s.io/api and
// CustomResourceDefinition. It does not use client-go's scheme, which the embedding program
// may change.
func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	if err := scheme.AddToScheme(s); err != nil {
		return nil, fmt.Errorf("registering the types of k8s.io/api: %w", err)
	}
	if err := apiextensionsv1.AddToScheme(s); err != nil {
		return nil, fmt.Errorf("registering the types of apiextensions.k8s.io: %w", err)
	}
	if err := apiservices.AddToScheme(s); err != nil {
		return nil, fmt.Errorf("registering the types of apiregistration.k8s.io: %w", err)
	}
	return s, nil
}
