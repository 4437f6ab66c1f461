package openapi

// MarkersText is the table of what the marker comments of the API types say, in the
// form that is described where it is read.
func MarkersText() string { return markersText }
