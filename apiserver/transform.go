package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/codec"
	"minikcm.dev/minikcm/apiserver/response"
)

const (
	kindTable   = "Table"
	kindPartial = "PartialObjectMetadata"
)

// writeResult sends one object in the requested format.
func (rq *request) writeResult(code int, obj runtime.Object) error {
	switch rq.target.As.Kind {
	case "":
		return rq.writeObject(code, rq.kind(), obj)
	case kindTable:
		opts, err := rq.tableOptions()
		if err != nil {
			return err
		}
		table, err := rq.newTable(opts, metav1.ListMeta{ResourceVersion: resourceVersionOf(obj)}, &page{objects: []runtime.Object{obj}})
		if err != nil {
			return err
		}
		return rq.writeObject(code, rq.target.As, table)
	}
	if rq.target.As.Kind != kindPartial {
		return noTransform("you requested PartialObjectMetadataList, but the requested object is not a list (%s)", rq.shownType(false))
	}
	partial, err := partialMetadata(obj)
	if err != nil {
		return err
	}
	return rq.writeObject(code, rq.target.As.GroupVersion().WithKind(kindPartial), partial)
}

// noTransform returns the error for an object that cannot be transformed to the
// requested kind.
func noTransform(format, shown string) error {
	return response.NewStatus(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, fmt.Sprintf(format, shown))
}

// writeList sends a page in the requested format.
func (rq *request) writeList(p *page) error {
	switch rq.target.As.Kind {
	case "":
		encode := codec.EncodeList
		if rq.row.Custom {
			encode = codec.EncodeUntypedList
		}
		data, err := encode(rq.target.Media, rq.row.GroupVersion().WithKind(rq.row.ListKind), p.meta, p)
		if err != nil {
			return response.EncodeError(err)
		}
		response.Bytes(rq.w, rq.r, 200, rq.target.Media.ContentType(), rq.pretty(data))
		return nil
	case kindTable:
		opts, err := rq.tableOptions()
		if err != nil {
			return err
		}
		table, err := rq.newTable(opts, p.meta, p)
		if err != nil {
			return err
		}
		return rq.writeObject(200, rq.target.As, table)
	}
	if rq.target.As.Kind == kindPartial {
		return noTransform("you requested PartialObjectMetadata, but the requested object is a list (%s)", rq.shownType(true))
	}
	list := &metav1.PartialObjectMetadataList{ListMeta: p.meta, Items: make([]metav1.PartialObjectMetadata, p.Len())}
	kind := rq.target.As.GroupVersion().WithKind(kindPartial)
	for i := range list.Items {
		partial, err := partialMetadata(p.At(i))
		if err != nil {
			return err
		}
		partial.SetGroupVersionKind(kind)
		list.Items[i] = *partial
	}
	return rq.writeObject(200, rq.target.As.GroupVersion().WithKind("PartialObjectMetadataList"), list)
}

// partialMetadata returns the object's metadata as PartialObjectMetadata.
func partialMetadata(obj runtime.Object) (*metav1.PartialObjectMetadata, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, response.NotAcceptable()
	}
	return meta.AsPartialObjectMetadata(m), nil
}

// newTable converts a page to a Table. With opts.NoHeaders it has no column
// definitions.
func (rq *request) newTable(opts *metav1.TableOptions, listMeta metav1.ListMeta, p *page) (*metav1.Table, error) {
	table := &metav1.Table{ListMeta: listMeta, Rows: make([]metav1.TableRow, p.Len())}
	header, cells := rq.printer()
	if !opts.NoHeaders {
		table.ColumnDefinitions = header
	}
	now := rq.server.opts.Clock.Now()
	for i := range table.Rows {
		obj := p.At(i)
		raw, err := rq.rowObject(opts.IncludeObject, obj)
		if err != nil {
			return nil, err
		}
		table.Rows[i] = metav1.TableRow{Cells: cells(obj, now), Object: runtime.RawExtension{Raw: raw}}
	}
	return table, nil
}

// rowObject returns the object in a Table's row: the metadata, unless the client
// requests otherwise.
func (rq *request) rowObject(include metav1.IncludeObjectPolicy, obj runtime.Object) ([]byte, error) {
	switch include {
	case metav1.IncludeNone:
		return nil, nil
	case metav1.IncludeObject:
		data, err := codec.Encode(codec.JSON, rq.kind(), obj)
		return data, err
	}
	partial, err := partialMetadata(obj)
	if err != nil {
		return nil, err
	}
	partial.SetGroupVersionKind(schema.GroupVersionKind{Group: rq.target.As.Group, Version: rq.target.As.Version, Kind: kindPartial})
	data, err := json.Marshal(partial)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("encoding a table row: %w", err))
	}
	return data, nil
}

func (rq *request) printer() ([]metav1.TableColumnDefinition, cellsFunc) {
	switch {
	case rq.sub != nil && rq.sub.Cells != nil:
		return rq.sub.Columns, rq.sub.Cells
	case rq.row.Cells != nil:
		return rq.row.Columns, rq.row.Cells
	}
	return defaultColumns, defaultCells
}

func resourceVersionOf(obj runtime.Object) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return m.GetResourceVersion()
}

// writeObject sends an object without transformation.
func (rq *request) writeObject(code int, gvk schema.GroupVersionKind, obj runtime.Object) error {
	data, err := codec.Encode(rq.target.Media, gvk, obj)
	if err != nil {
		return response.EncodeError(err)
	}
	response.Bytes(rq.w, rq.r, code, rq.target.Media.ContentType(), rq.pretty(data))
	return nil
}

// pretty indents JSON if the client requests it, or if the client is a command line
// tool or a browser.
func (rq *request) pretty(data []byte) []byte {
	if rq.target.Pretty && rq.target.Media == codec.JSON {
		return response.Indent(data)
	}
	return response.Pretty(rq.r, rq.target.Media, data)
}
