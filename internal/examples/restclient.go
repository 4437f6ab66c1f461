// Code generated from examples/restclient/main.go by go generate. DO NOT EDIT.

package examples

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// The program restclient lists pods with a RESTClient, the client that all others are made of: it
// builds the path of a request from its parts and decodes the response.
func restclient(ctx context.Context, config *rest.Config) error {
	// A RESTClient serves one group and version, and must know how to encode its types.
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return err
	}
	// GET /api/v1/namespaces/default/pods?limit=500
	request := client.Get().Namespace("default").Resource("pods").
		VersionedParams(&metav1.ListOptions{Limit: 500}, scheme.ParameterCodec)
	fmt.Println("GET", request.URL().RequestURI())
	var pods corev1.PodList
	if err := request.Do(ctx).Into(&pods); err != nil {
		return err
	}
	for i := range pods.Items {
		fmt.Println(pods.Items[i].Name, pods.Items[i].Status.Phase)
	}
	return nil
}
