package audit

import (
	"context"
	"encoding/json"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	upstream "k8s.io/apiserver/pkg/audit"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/apiserver/internal/codec"
)

// WantsRequest reports whether the events have the request's body.
func (rec *Record) WantsRequest() bool {
	return rec != nil && rec.rule.Level.GreaterOrEqual(auditinternal.LevelRequest)
}

// wantsResponse reports whether the events have the response's body.
func (rec *Record) wantsResponse() bool {
	return rec.rule.Level.GreaterOrEqual(auditinternal.LevelRequestResponse)
}

// Request records the object in the body of the request whose context is ctx. It does not
// keep the object. The objectRef gets the object's name, UID and resourceVersion.
func (rec *Record) Request(ctx context.Context, kind schema.GroupVersionKind, obj runtime.Object, gvr schema.GroupVersionResource, subresource string) {
	if rec != nil {
		upstream.LogRequestObject(ctx, obj, kind.GroupVersion(), gvr, subresource, serializer{kind, rec.WantsRequest()})
	}
}

// Patch records the patch in the request's body. It does not record a patch that is not
// YAML or JSON, which the verb refuses.
func (rec *Record) Patch(patchType types.PatchType, patch []byte) {
	if !rec.WantsRequest() {
		return
	}
	if patchType == types.ApplyYAMLPatchType {
		asJSON, err := yaml.YAMLToJSON(patch)
		if err != nil {
			return
		}
		patch = asJSON
	}
	if json.Valid(patch) {
		rec.event.LogRequestPatch(slices.Clone(patch))
	}
}

// Response records the object in the response to the request whose context is ctx. It does
// not keep the object.
func (rec *Record) Response(ctx context.Context, kind schema.GroupVersionKind, obj runtime.Object) {
	if rec != nil {
		upstream.LogResponseObject(ctx, obj, kind.GroupVersion(), serializer{kind, rec.wantsResponse()})
	}
}

// ResponseList records the list in the response.
func (rec *Record) ResponseList(list *codec.List) {
	if rec == nil || !rec.wantsResponse() {
		return
	}
	shown := *list
	if rec.rule.OmitManagedFields {
		shown.Items = unmanaged{list.Items}
	}
	// A list that cannot be encoded is an error of the response as well.
	if data, err := shown.Encode(nil, codec.JSON, false); err == nil {
		rec.event.LogResponseObject(nil, &runtime.Unknown{Raw: data, ContentType: runtime.ContentTypeJSON})
	}
}

// unmanaged are the items of a list without their managed fields.
type unmanaged struct{ codec.Items }

// At implements codec.Items.
func (u unmanaged) At(i int) (any, error) {
	item, err := u.Items.At(i)
	if err != nil {
		return nil, err
	}
	if row, ok := item.(metav1.TableRow); ok {
		row.Object.Raw, err = withoutManagedFields(row.Object.Raw)
		return row, err
	}
	obj, ok := item.(runtime.Object)
	if !ok {
		return item, nil
	}
	if m, err := meta.Accessor(obj); err != nil || len(m.GetManagedFields()) == 0 {
		return item, nil // it has none to omit
	}
	obj = obj.DeepCopyObject()
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	m.SetManagedFields(nil)
	return obj, nil
}

// withoutManagedFields removes the managed fields from the JSON of a row's object.
func withoutManagedFields(raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return raw, nil
	}
	var content map[string]any
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil, err
	}
	if metadata, ok := content["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	return json.Marshal(content)
}

// serializer gives upstream's library the server's encoding of one kind. It encodes nothing
// if the level of the event needs no body.
type serializer struct {
	kind   schema.GroupVersionKind
	wanted bool
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (s serializer) SupportedMediaTypes() []runtime.SerializerInfo {
	return []runtime.SerializerInfo{{MediaType: runtime.ContentTypeJSON}}
}

// EncoderForVersion implements runtime.NegotiatedSerializer.
func (s serializer) EncoderForVersion(runtime.Encoder, runtime.GroupVersioner) runtime.Encoder {
	return encoder(s)
}

// DecoderToVersion implements runtime.NegotiatedSerializer. The library does not decode.
func (s serializer) DecoderToVersion(runtime.Decoder, runtime.GroupVersioner) runtime.Decoder {
	return nil
}

type encoder serializer

// Encode implements runtime.Encoder.
func (e encoder) Encode(obj runtime.Object, w io.Writer) error {
	if !e.wanted {
		return nil
	}
	data, err := codec.Encode(codec.JSON, e.kind, obj)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// Identifier implements runtime.Encoder.
func (e encoder) Identifier() runtime.Identifier {
	return runtime.Identifier("minikcm-audit-" + e.kind.String())
}
