package promtest

// ShowAll is showAll.
var ShowAll = showAll
