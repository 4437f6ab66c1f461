package requests

import (
	"minikcm.dev/minikcm/test/wire/exchange"
)

// life creates an object, changes it by every verb, and deletes it.
func (k *Kind) life(m Manifest) exchange.Case {
	object := k.Object(m)
	body, item := text(object), k.item(object)
	c := exchange.Case{Name: k.ID() + "/" + m.Name + "/life"}
	c.Add(post("create", k.List(), body))
	if !k.Has("get") {
		return c
	}
	c.Add(post("create again", k.List(), body))
	c.Add(get("get", item))
	c.Add(put("put unchanged", item, "get", nil))
	c.Add(put("put with a label", item, "get", label("wire", "put")))
	c.Add(put("put with the version from before", item, "get", label("wire", "late")))
	c.Add(put("put without a version", item, "get", without("metadata", "resourceVersion")))
	c.Add(put("put with a version that is none", item, "get", metadata("resourceVersion", "x")))
	c.Add(put("put with another UID", item, "get", both(without("metadata", "resourceVersion"), metadata("uid", "00000000-0000-0000-0000-000000000000"))))
	c.Add(put("put with another name", item, "get", metadata("name", "other")))
	c.Add(put("put with another namespace", item, "get", metadata("namespace", "other")))
	c.Add(put("put without a name", item, "get", without("metadata", "name")))
	c.Add(put("put at a name that does not exist", k.List()+"/missing", "get", both(metadata("name", "missing"), without("metadata", "uid"))))
	k.patches(&c, item, object)
	c.Add(getAs("as a table", item, tableV1))
	c.Add(del("delete dry", item+"?dryRun=All", ""))
	c.Add(del("delete", item, ""))
	c.Add(get("get deleted", item))
	c.Add(del("delete again", item, ""))
	remove(&c, "remove", item)
	return c
}

// patches changes an object by each type of patch.
func (k *Kind) patches(c *exchange.Case, item string, object map[string]any) {
	for _, p := range []struct{ name, contentType string }{{"merge", mergePatch}, {"strategic", strategicPatch}} {
		c.Add(patch(p.name+" patch", item, p.contentType, `{"metadata":{"labels":{"wire":"`+p.name+`"}}}`))
		c.Add(patch(p.name+" patch again", item, p.contentType, `{"metadata":{"labels":{"wire":"`+p.name+`"}}}`))
		c.Add(patch(p.name+" patch of nothing", item, p.contentType, `{}`))
		c.Add(patch(p.name+" patch with an old version", item, p.contentType, `{"metadata":{"resourceVersion":"1"}}`))
		c.Add(patch(p.name+" patch of the name", item, p.contentType, `{"metadata":{"name":"other"}}`))
		c.Add(patch(p.name+" patch that is none", item, p.contentType, `[1]`))
	}
	c.Add(patch("json patch", item, jsonPatch, `[{"op":"add","path":"/metadata/labels","value":{"wire":"json"}}]`))
	c.Add(patch("json patch again", item, jsonPatch, `[{"op":"replace","path":"/metadata/labels/wire","value":"json"}]`))
	c.Add(patch("json patch that fails", item, jsonPatch, `[{"op":"test","path":"/metadata/labels/wire","value":"x"}]`))
	c.Add(patch("json patch of a missing path", item, jsonPatch, `[{"op":"remove","path":"/metadata/labels/none"}]`))
	c.Add(patch("json patch that is none", item, jsonPatch, `{}`))
	applied := text(map[string]any{"apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": map[string]any{"name": nameOf(object), "labels": map[string]any{"wire": "applied"}}})
	c.Add(patch("apply without a manager", item, applyPatch, applied))
	c.Add(patch("apply with a conflict", item+"?fieldManager=wire", applyPatch, applied))
	c.Add(patch("apply by force", item+"?fieldManager=wire&force=true", applyPatch, applied))
	c.Add(patch("apply again", item+"?fieldManager=wire", applyPatch, applied))
	whole := k.Object(Manifest{Object: object})
	metadataOf(whole)["labels"] = map[string]any{"wire": "applied"}
	c.Add(patch("apply the whole", item+"?fieldManager=wire&force=true", applyPatch, text(whole)))
	c.Add(patch("apply the whole again", item+"?fieldManager=wire&force=true", applyPatch, text(whole)))
	c.Add(patch("apply with managed fields", item+"?fieldManager=wire", applyPatch, text(withMetadata(whole, "managedFields", []any{map[string]any{}}))))
	c.Add(patch("apply another kind", item+"?fieldManager=wire", applyPatch, `{"apiVersion":"v1","kind":"Other"}`))
	c.Add(patch("patch with an unknown type", item, "application/x-patch", `{}`))
	c.Add(patch("patch at a name that does not exist", k.List()+"/missing", mergePatch, `{}`))
}

// label returns a change that sets a label.
func label(key, value string) func(map[string]any) {
	return func(object map[string]any) { field(metadataOf(object), "labels")[key] = value }
}

// metadata returns a change that sets a field of the metadata.
func metadata(key string, value any) func(map[string]any) {
	return func(object map[string]any) { metadataOf(object)[key] = value }
}

// without returns a change that removes a field of an object in a field.
func without(in, key string) func(map[string]any) {
	return func(object map[string]any) { delete(field(object, in), key) }
}

// both returns a change that makes several.
func both(changes ...func(map[string]any)) func(map[string]any) {
	return func(object map[string]any) {
		for _, change := range changes {
			change(object)
		}
	}
}

// withMetadata returns a copy of an object with a field of the metadata.
func withMetadata(object map[string]any, key string, value any) map[string]any {
	object = clone(object)
	metadataOf(object)[key] = value
	return object
}
