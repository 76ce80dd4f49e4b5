package promquery

// CgroupUID is exported to tests.
var CgroupUID = cgroupUID
