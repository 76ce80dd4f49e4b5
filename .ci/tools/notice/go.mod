module github.com/promcost/promcost/tools/notice

go 1.26.0

require github.com/google/licensecheck v0.3.1
