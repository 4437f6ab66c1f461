package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/network/routes"
)

// ingressLink returns the URL of the first rule of an Ingress, and what to do if this machine does not resolve its host.
func ingressLink(ctx context.Context, kubeconfig, namespace, name string) (link, hint string, err error) {
	_, client, err := clusterOf(ctx, kubeconfig)
	if err != nil {
		return "", "", err
	}
	ingress, err := client.NetworkingV1().Ingresses(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", "", badInput{fmt.Errorf("ingress %s/%s not found", namespace, name)}
	}
	if err != nil {
		return "", "", fmt.Errorf("getting ingress %s/%s: %w", namespace, name, err)
	}
	class := routes.ClassOf(ingress)
	router := routes.Router{Name: class}.Service()
	service, err := client.CoreV1().Services(router.Namespace).Get(ctx, router.Name, metav1.GetOptions{})
	if err == nil {
		if of, ok := routes.RouterOf(service); !ok || of.Name != class {
			err = apierrors.NewNotFound(networkingv1.Resource("ingressclasses"), class)
		}
	}
	if apierrors.IsNotFound(err) {
		return "", "", fmt.Errorf("ingress %s/%s has the class %q, which the simulated router does not serve: that needs an IngressClass with the controller %s", namespace, name, class, routes.Controller)
	}
	if err != nil {
		return "", "", fmt.Errorf("getting the Service of the router: %w", err)
	}
	host, path, secure, ok := firstRule(ingress)
	if !ok {
		return "", "", fmt.Errorf("ingress %s/%s has no rule with a path, and no default backend: nothing answers", namespace, name)
	}
	port := "http"
	if secure {
		port = "https"
	}
	base, err := publishedLink(ctx, client, service, port)
	if err != nil {
		return "", "", err
	}
	link, hint = hostLink(ctx, base, host, path)
	return link, hint, nil
}

// firstRule returns the host and path of the first rule of an Ingress that has a backend, and whether the host has a certificate; not ok
// if there is none.
func firstRule(i *networkingv1.Ingress) (host, path string, secure, ok bool) {
	path, ok = "/", i.Spec.DefaultBackend != nil
	for n := range i.Spec.Rules {
		rule := &i.Spec.Rules[n]
		hasPaths := rule.HTTP != nil && len(rule.HTTP.Paths) > 0
		if !hasPaths && !ok {
			continue
		}
		host, ok = strings.Replace(rule.Host, "*", "www", 1), true
		if hasPaths && rule.HTTP.Paths[0].Path != "" {
			path = rule.HTTP.Paths[0].Path
		}
		for _, tls := range i.Spec.TLS {
			secure = secure || slices.Contains(tls.Hosts, rule.Host)
		}
		break
	}
	return host, path, secure, ok
}

// hostLink returns the URL of a path of a host whose published address is in the URL base. hint says how to reach it if the name does
// not lead there.
func hostLink(ctx context.Context, base, host, path string) (link, hint string) {
	u, err := url.Parse(base)
	if err != nil || host == "" {
		return base + path, ""
	}
	address, port := u.Hostname(), u.Port()
	number := port
	if number == "" {
		number = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if port == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		port = ""
	}
	u.Host, u.Path = host, path
	if port != "" {
		u.Host = net.JoinHostPort(host, port)
	}
	if found, err := net.DefaultResolver.LookupHost(ctx, host); err == nil && slices.Contains(found, address) {
		return u.String(), ""
	}
	return u.String(), fmt.Sprintf("%s does not lead to %s on this machine: add \"%s %s\" to /etc/hosts, or use \"curl --resolve %s:%s:%s %s\".", host, address, address, host, host, number, address, u)
}
