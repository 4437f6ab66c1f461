package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"minikcm.dev/minikcm/apiserver/codec"
)

// maxPatchOperations bounds a JSON patch, as upstream does.
const maxPatchOperations = 10_000

// patchTypes are what is accepted, in the order that a 415 names them.
var patchTypes = []string{
	string(types.JSONPatchType), string(types.MergePatchType), string(types.StrategicMergePatchType), string(types.ApplyYAMLPatchType),
}

// servePatch serves PATCH on an object or a subresource.
func servePatch(ctx context.Context, rq *request) error {
	mediaType, _, err := mime.ParseMediaType(rq.r.Header.Get("Content-Type"))
	if err != nil {
		return unsupportedMediaType(patchTypes...)
	}
	patchType := types.PatchType(mediaType)
	opts, err := rq.patchOptions(patchType)
	if err != nil {
		return err
	}
	data, err := rq.body()
	if err != nil {
		return err
	}
	w := write{manager: fieldOwner(rq.r, opts.FieldManager), dryRun: isDryRun(opts.DryRun)}
	p := patcher{rq: rq, data: data, validation: opts.FieldValidation}
	switch patchType {
	case types.JSONPatchType:
		w.make, err = p.jsonPatch()
	case types.MergePatchType:
		w.make = p.mergePatch
	case types.StrategicMergePatchType:
		w.make, err = p.strategicPatch()
	case types.ApplyYAMLPatchType:
		w.apply, w.createIfMissing = true, rq.sub == nil
		w.make, err = p.apply(opts.FieldManager, opts.Force != nil && *opts.Force)
	default:
		return unsupportedMediaType(patchTypes...)
	}
	if err != nil {
		return err
	}
	return rq.update(ctx, w)
}

// patcher makes the patched object from the current one.
type patcher struct {
	rq         *request
	data       []byte
	validation string
}

func (p patcher) jsonPatch() (func(runtime.Object) (runtime.Object, error), error) {
	patch, err := jsonpatch.DecodePatch(p.data)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	if len(patch) > maxPatchOperations {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxPatchOperations, len(patch)))
	}
	return func(current runtime.Object) (runtime.Object, error) {
		return p.throughJSON(current, func(document []byte) ([]byte, error) {
			patched, err := patch.Apply(document)
			if err != nil {
				return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", p.rq.groupResource(), p.rq.Name, err.Error(), 0, false)
			}
			return patched, nil
		})
	}, nil
}

func (p patcher) mergePatch(current runtime.Object) (runtime.Object, error) {
	return p.throughJSON(current, func(document []byte) ([]byte, error) {
		patched, err := jsonpatch.MergePatch(document, p.data)
		if err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error applying merge patch: %v", err))
		}
		return patched, nil
	})
}

// throughJSON patches the object's JSON form and reads the outcome back.
func (p patcher) throughJSON(current runtime.Object, patch func([]byte) ([]byte, error)) (runtime.Object, error) {
	kind := p.rq.kind()
	document, err := codec.Encode(codec.JSON, kind, current)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	patched, err := patch(document)
	if err != nil {
		return nil, err
	}
	obj, got, strict, err := p.rq.server.decoder.Decode(codec.JSON, patched, kind, p.rq.newBody())
	if err != nil {
		return nil, p.rq.undecodable(err)
	}
	if got != kind {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s", got.Kind, got.GroupVersion(), kind.Kind))
	}
	return obj, p.rq.strictness(strict, p.validation)
}

// undecodable is the answer to a patch whose outcome is no object of the kind.
func (rq *request) undecodable(err error) error {
	kind := rq.kind()
	return apierrors.NewBadRequest(fmt.Sprintf("unable to decode patched %s in version %q: %v", kind.Kind, kind.GroupVersion(), err))
}

func (p patcher) strategicPatch() (func(runtime.Object) (runtime.Object, error), error) {
	// The document's map is consumed by the merge, so that each try reads its own.
	var probe map[string]any
	if err := json.Unmarshal(p.data, &probe); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return func(current runtime.Object) (runtime.Object, error) {
		var patch map[string]any
		if err := json.Unmarshal(p.data, &patch); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		original, err := runtime.DefaultUnstructuredConverter.ToUnstructured(current)
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		patched, err := strategicpatch.StrategicMergeMapPatch(original, patch, p.rq.newBody())
		if err != nil {
			return nil, strategicError(err)
		}
		return p.fromMap(patched)
	}, nil
}

// fromMap turns a patched map into an object.
func (p patcher) fromMap(content map[string]any) (runtime.Object, error) {
	obj := p.rq.newBody()
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, obj, p.validation != metav1.FieldValidationIgnore)
	if err != nil && !runtime.IsStrictDecodingError(err) {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := p.rq.strictness(err, p.validation); err != nil {
		return nil, err
	}
	clearTypeMeta(obj)
	return obj, nil
}

func strategicError(err error) error {
	if errors.Is(err, mergepatch.ErrBadJSONDoc) || errors.Is(err, mergepatch.ErrBadPatchFormatForPrimitiveList) ||
		errors.Is(err, mergepatch.ErrBadPatchFormatForRetainKeys) || errors.Is(err, mergepatch.ErrBadPatchFormatForSetElementOrderList) ||
		errors.Is(err, mergepatch.ErrUnsupportedStrategicMergePatchFormat) {
		return apierrors.NewBadRequest(err.Error())
	}
	if errors.Is(err, mergepatch.ErrNoListOfLists) || mergepatch.IsPreconditionFailed(err) {
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return apierrors.NewBadRequest(err.Error())
}
