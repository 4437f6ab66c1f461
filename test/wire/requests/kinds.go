package requests

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	"sigs.k8s.io/yaml"
)

// Kind is a resource of one version, as discovery describes it.
type Kind struct {
	Group, Version, Resource, Kind string
	Namespaced                     bool
	Verbs                          []string
	Subresources                   []Subresource
	// Manifests are valid objects of the kind, the simplest first.
	Manifests []Manifest
	// Status is an object with a valid status, if there is one.
	Status map[string]any
}

// Subresource is a subresource of a kind.
type Subresource struct {
	Name, Kind string
	Verbs      []string
}

// Manifest is an object to create.
type Manifest struct {
	// Name is the name of its file, without the suffix.
	Name   string
	Object map[string]any
}

// namespace is the namespace of the created objects. It has a service account.
const namespace = "wire"

// own are the manifests of kinds that have none elsewhere.
//
//go:embed testdata/*.yaml
var own embed.FS

// Kinds returns the kinds that a discovery document (apidiscovery.k8s.io/v2) lists, with the
// manifests of a folder that has the subfolders create and status.
func Kinds(discovery [][]byte, manifests string) ([]Kind, error) {
	created, err := readManifests(os.DirFS(manifests), "create")
	if err != nil {
		return nil, err
	}
	more, err := readManifests(own, "testdata")
	if err != nil {
		return nil, err
	}
	statuses, err := readManifests(os.DirFS(manifests), "status")
	if err != nil {
		return nil, err
	}
	var kinds []Kind
	for _, document := range discovery {
		var list apidiscovery.APIGroupDiscoveryList
		if err := json.Unmarshal(document, &list); err != nil {
			return nil, fmt.Errorf("reading discovery: %w", err)
		}
		for _, group := range list.Items {
			for _, version := range group.Versions {
				for _, resource := range version.Resources {
					k := kindOf(group.Name, version.Version, resource)
					k.take(append(more, created...), statuses)
					kinds = append(kinds, k)
				}
			}
		}
	}
	return kinds, nil
}

func kindOf(group, version string, resource apidiscovery.APIResourceDiscovery) Kind {
	k := Kind{Group: group, Version: version, Resource: resource.Resource, Verbs: resource.Verbs, Namespaced: resource.Scope == apidiscovery.ScopeNamespace}
	if resource.ResponseKind != nil {
		k.Kind = resource.ResponseKind.Kind
	}
	for _, sub := range resource.Subresources {
		s := Subresource{Name: sub.Subresource, Verbs: sub.Verbs}
		if sub.ResponseKind != nil {
			s.Kind = sub.ResponseKind.Kind
		}
		k.Subresources = append(k.Subresources, s)
	}
	return k
}

// take finds the manifests of the kind in its version.
func (k *Kind) take(created, statuses []Manifest) {
	k.Manifests = ofKind(created, k.APIVersion(), k.Kind)
	for _, m := range statuses {
		if m.Object["kind"] == k.Kind && m.Object["apiVersion"] == k.APIVersion() && k.Status == nil {
			k.Status = m.Object
		}
	}
}

func ofKind(manifests []Manifest, apiVersion, kind string) (found []Manifest) {
	for _, m := range manifests {
		if m.Object["kind"] == kind && m.Object["apiVersion"] == apiVersion {
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(a, b Manifest) int { return len(text(a.Object)) - len(text(b.Object)) })
	return found
}

func readManifests(files fs.FS, folder string) (manifests []Manifest, err error) {
	names, err := fs.Glob(files, folder+"/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		var object map[string]any
		if err := yaml.Unmarshal(data, &object); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		base := strings.TrimSuffix(name[strings.LastIndex(name, "/")+1:], ".yaml")
		manifests = append(manifests, Manifest{Name: base, Object: object})
	}
	return manifests, nil
}

// APIVersion is group/version.
func (k *Kind) APIVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

// ID names the kind in the names of cases: pods.v1, deployments.v1.apps.
func (k *Kind) ID() string {
	id := k.Resource + "." + k.Version
	if k.Group != "" {
		id += "." + k.Group
	}
	return id
}

// Root is the path of the kind's version.
func (k *Kind) Root() string {
	if k.Group == "" {
		return "/api/" + k.Version
	}
	return "/apis/" + k.Group + "/" + k.Version
}

// All is the path of the kind's objects in all namespaces.
func (k *Kind) All() string { return k.Root() + "/" + k.Resource }

// List is the path of the kind's objects in the namespace of the comparison.
func (k *Kind) List() string { return k.ListIn(namespace) }

// ListIn is the path of the kind's objects in a namespace.
func (k *Kind) ListIn(ns string) string {
	if !k.Namespaced {
		return k.All()
	}
	return k.Root() + "/namespaces/" + ns + "/" + k.Resource
}

// Has reports whether the kind has a verb.
func (k *Kind) Has(verb string) bool { return slices.Contains(k.Verbs, verb) }

// Object returns a copy of a manifest for the namespace of the comparison.
func (k *Kind) Object(m Manifest) map[string]any {
	object := clone(m.Object)
	if k.Namespaced {
		metadataOf(object)["namespace"] = namespace
	}
	return object
}

// clone copies a JSON object.
func clone(object map[string]any) map[string]any { return parsed(text(object)) }

// parsed reads a JSON object of this package.
func parsed(source string) map[string]any {
	var out map[string]any
	decoder := json.NewDecoder(strings.NewReader(source))
	decoder.UseNumber()
	if err := decoder.Decode(&out); err != nil {
		panic(err) // it was encoded from an object
	}
	return out
}

// text encodes a value as JSON.
func text(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // of manifests and literals
	}
	return strings.TrimSpace(out.String())
}

// metadataOf returns the metadata of an object, which it adds if it has none.
func metadataOf(object map[string]any) map[string]any {
	return field(object, "metadata")
}

// field returns an object in a field, which it adds if there is none.
func field(object map[string]any, name string) map[string]any {
	in, ok := object[name].(map[string]any)
	if !ok {
		in = map[string]any{}
		object[name] = in
	}
	return in
}

func nameOf(object map[string]any) string {
	name, _ := metadataOf(object)["name"].(string)
	return name
}
