package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// Patch changes one object.
type Patch struct {
	// Target is KIND/NAME.
	Target      string `yaml:"target"`
	Namespace   string `yaml:"namespace"`
	Subresource string `yaml:"subresource"`
	// Type is strategic (the default for built-in kinds), merge or json.
	Type string `yaml:"type"`
	// Patch is the patch: a mapping, or for type json a list.
	Patch any `yaml:"patch"`
}

func (p *Patch) check(c *spec.Checker) {
	c.Check("target", spec.Named(p.Target))
	types := []string{"strategic", "merge", "json"}
	switch _, list := p.Patch.([]any); {
	case p.Type != "" && !slices.Contains(types, p.Type):
		c.Problem("type", "%q is not a type of patch; %s", p.Type, spec.DidYouMean(p.Type, types))
	case p.Patch == nil:
		c.Problem("patch", "is missing: say what to change")
	case list != (p.Type == "json"):
		c.Problem("patch", "must be a list of operations for type json, and a mapping of fields for the others")
	}
}

func (p *Patch) title() string { return "patch " + p.Target }

func (b *branch) patch(ctx context.Context, p *Patch) error {
	client, name, kind, err := b.run.named(p.Target, p.Namespace)
	if err != nil {
		return err
	}
	kinds := map[string]types.PatchType{"strategic": types.StrategicMergePatchType, "merge": types.MergePatchType, "json": types.JSONPatchType}
	patchType, known := kinds[p.Type]
	if !known { // custom resources have no strategic merge
		patchType = types.MergePatchType
		if scheme.Scheme.IsGroupRegistered(kind.Group) {
			patchType = types.StrategicMergePatchType
		}
	}
	data, err := json.Marshal(p.Patch)
	if err != nil {
		return fmt.Errorf("encoding the patch: %w", err)
	}
	var subresources []string
	if p.Subresource != "" {
		subresources = []string{p.Subresource}
	}
	_, err = client.Patch(ctx, name, patchType, data, metav1.PatchOptions{FieldManager: fieldManager, FieldValidation: metav1.FieldValidationStrict}, subresources...)
	if err != nil {
		return fmt.Errorf("patching %s: %w", p.Target, err)
	}
	return nil
}
