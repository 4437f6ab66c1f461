package admission

// UpstreamText is an error whose text is upstream's, whatever its form.
type UpstreamText string

func (e UpstreamText) Error() string { return string(e) }
