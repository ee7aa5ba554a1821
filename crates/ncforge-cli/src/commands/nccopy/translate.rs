//! nccopy's options as a [`CopyRequest`].
//!
//! Reference: `nccopy(1)` of netCDF-C 4.9, and where the manual is silent, what the program does.

use ncforge::codec::filters::{self, FLETCHER32};
use ncforge::model::{Filter, GroupId, VarId};
use ncforge::{Format, Schema};
use ncforge_ops::copy::{
    ChunkChoice, ChunkSpec, CodingRequest, CopyRequest, FilterSpec, RunRequest, Switches, VarChunks,
};
use ncforge_ops::request::{FormatChoice, Size};
use ncforge_tune::vocabulary::Words;

use crate::args::{List, NccopyArgs};
use crate::exit::{Failure, Result};

/// The request of nccopy's options, for a given source. An output that exists is overwritten and no
/// history is written, as nccopy does.
pub(super) fn translate(args: &NccopyArgs, source: &Schema) -> Result<CopyRequest> {
    let mut request = CopyRequest {
        coding: CodingRequest { format: FormatChoice(format(args, source)?), ..CodingRequest::default() },
        switches: Switches { fix_unlimited: args.fixed, strict: true, ..Switches::default() },
        run: RunRequest {
            overwrite: true,
            verify: args.verify,
            resume: args.resume,
            ..RunRequest::default()
        },
        ..CopyRequest::default()
    };
    let suppress_all = add_filters(args, source, &mut request)?;
    request.chunks = Some(chunks(&args.chunks, source, &request.filters)?);
    // Variables that are compressed or filtered on request are chunked however small they are, as in nccopy.
    let filtered = args.deflate.is_some_and(|n| n > 0) || (!args.filters.is_empty() && !suppress_all);
    request.min_chunked = args.min_chunked.or(filtered.then_some(0)).map(Size);
    choose_objects(args, source, &mut request)?;
    forget_left_out(source, &mut request);
    Ok(request)
}

/// Takes out what is asked of variables that are not copied: nccopy does not look at it.
fn forget_left_out(source: &Schema, request: &mut CopyRequest) {
    let Some(kept) = request.run.vars.clone() else { return };
    let is_left_out =
        |name: &String| source.find_var(name).is_some_and(|v| !kept.contains(&full_path(source, v)));
    request.filters.retain_mut(|f| match &mut f.vars {
        Some(names) => {
            names.retain(|name| !is_left_out(name));
            !names.is_empty()
        }
        None => true,
    });
    if let Some(ChunkChoice::Spec(spec)) = &mut request.chunks {
        spec.vars.retain(|(name, _)| !is_left_out(name));
    }
}

/// The output's format; `None` is the source's.
fn format(args: &NccopyArgs, source: &Schema) -> Result<Option<Format>> {
    let asked = match &args.kind {
        Some(kind) => Some(kind_named(kind).ok_or_else(|| {
            Failure::usage(
                format!("no kind of file is called `{kind}`"),
                "the kinds are classic, '64-bit offset', cdf5, netCDF-4, 'netCDF-4 classic model'",
            )
        })?),
        None => args.digits.format(),
    };
    if asked.is_some() {
        return Ok(asked);
    }
    if args.filters.iter().any(|f| !suppresses_all(f)) {
        return Ok(Some(Format::Netcdf4));
    }
    let storage_asked = args.deflate.is_some_and(|n| n > 0) || args.shuffle || !args.chunks.is_empty();
    Ok((source.format.is_classic() && storage_asked).then_some(Format::Netcdf4Classic))
}

/// The names and the old numbers of kinds that `nccopy -k` knows.
fn kind_named(kind: &str) -> Option<Format> {
    match kind {
        "1" => Some(Format::Cdf1),
        "2" => Some(Format::Cdf2),
        "3" => Some(Format::Netcdf4),
        "4" => Some(Format::Netcdf4Classic),
        "5" => Some(Format::Cdf5),
        name => FormatChoice::named(name).ok()?.0,
    }
}

/// All of `-c`. The first specification of a variable or of a dimension counts; `/` beats all others, and takes
/// the chunks of every variable that has no filters (filters need chunks).
fn chunks(specs: &[String], source: &Schema, filters: &[FilterSpec]) -> Result<ChunkChoice> {
    if specs.is_empty() {
        return Ok(ChunkChoice::Keep);
    }
    let mut all = ChunkSpec::default();
    for text in specs {
        let mut one = ChunkSpec::default();
        one.add(text).map_err(|e| {
            Failure::usage(e.to_string(), "write 'dim/length,…', 'var:length,…', 'var:' or '/'")
        })?;
        all.unchunk |= one.unchunk;
        all.vars.extend(one.vars);
        all.dims.extend(one.dims);
    }
    if all.unchunk {
        let bare = source.var_ids().filter(|&v| !is_filtered(source, v, filters));
        let vars: Vec<_> = bare.map(|v| (source.var_path(v), VarChunks::Contiguous)).collect();
        let spec = ChunkSpec { vars, ..ChunkSpec::default() };
        return Ok(if spec.vars.is_empty() { ChunkChoice::Keep } else { ChunkChoice::Spec(spec) });
    }
    keep_first(&mut all.vars);
    keep_first(&mut all.dims);
    Ok(ChunkChoice::Spec(all))
}

fn keep_first<T>(named: &mut Vec<(String, T)>) {
    let mut seen = std::collections::HashSet::new();
    named.retain(|(name, _)| seen.insert(name.trim_start_matches('/').to_owned()));
}

/// `none` and `*,none`: no filters at all but those asked for.
fn suppresses_all(spec: &str) -> bool {
    spec == "none" || spec.eq_ignore_ascii_case("*,none")
}

/// `-d`, `-s` and `-F`, as filters of each variable. Gives whether all filters are suppressed.
fn add_filters(args: &NccopyArgs, source: &Schema, request: &mut CopyRequest) -> Result<bool> {
    let suppress_all = args.filters.iter().any(|f| suppresses_all(f));
    // Deflate: a checksum that the source has stays, every other filter goes.
    if args.deflate.is_some() || suppress_all {
        for v in source.var_ids().filter(|v| !source.is_heap(source.var(*v).dtype)) {
            let size = source.fixed_size(source.var(v).dtype).unwrap_or(1);
            let mut list: Vec<Filter> = Vec::new();
            if let Some(level) = args.deflate.filter(|&n| n > 0) {
                if args.shuffle {
                    list.push(filters::shuffle(size));
                }
                list.push(filters::deflate(level));
            }
            if !suppress_all {
                list.extend(filters_in(source, v).iter().filter(|f| f.id == FLETCHER32).cloned());
            }
            request.filters.push(FilterSpec { vars: Some(vec![source.var_path(v)]), filters: list });
        }
    }
    for text in args.filters.iter().filter(|f| !suppresses_all(f)) {
        let spec = FilterSpec::parse(text).map_err(|e| {
            Failure::usage(
                e.to_string(),
                "write 'var,filter,parameter,…' or '*,filter,…'; a filter is a number or a name",
            )
        })?;
        request.filters.push(spec);
    }
    Ok(suppress_all)
}

/// Whether a variable of the output has filters: those that the last specification of it gives, else its own.
fn is_filtered(source: &Schema, v: VarId, asked: &[FilterSpec]) -> bool {
    let path = full_path(source, v);
    let names_it = |f: &&FilterSpec| {
        let same = |name: &String| name.trim_start_matches('/') == path.trim_start_matches('/');
        f.vars.as_ref().is_none_or(|names| names.iter().any(same))
    };
    match asked.iter().rev().find(names_it) {
        Some(spec) => !spec.filters.is_empty(),
        None => !filters_in(source, v).is_empty(),
    }
}

fn filters_in(source: &Schema, v: VarId) -> &[Filter] {
    source.var(v).storage.filters()
}

/// `-v -V -g -G`: which variables, and of which the values.
fn choose_objects(args: &NccopyArgs, source: &Schema, request: &mut CopyRequest) -> Result<()> {
    request.values_of = chosen(source, &args.data_vars, &args.data_groups)?;
    request.run.vars = chosen(source, &args.only_vars, &args.only_groups)?;
    request.switches.all_dimensions = !args.only_vars.is_empty() && args.only_groups.is_empty();
    Ok(())
}

/// The variables of these names that are in these groups, each of which chooses all if there are none; `None` for all.
fn chosen(source: &Schema, vars: &[List], groups: &[List]) -> Result<Option<Vec<String>>> {
    let named = (!vars.is_empty()).then(|| variables(source, &List::all(vars))).transpose()?;
    let inside = (!groups.is_empty()).then(|| variables_of_groups(source, &List::all(groups))).transpose()?;
    Ok(match (named, inside) {
        (Some(named), Some(inside)) => Some(named.into_iter().filter(|path| inside.contains(path)).collect()),
        (named, inside) => named.or(inside),
    })
}

/// Variables by absolute path, or all those whose path ends like a relative one.
fn variables(source: &Schema, names: &[String]) -> Result<Vec<String>> {
    let mut chosen = Vec::new();
    for name in names {
        let found: Vec<VarId> = source.var_ids().filter(|&v| means(name, &full_path(source, v))).collect();
        if found.is_empty() {
            return Err(missing("variable", name));
        }
        chosen.extend(found.into_iter().map(|v| full_path(source, v)));
    }
    Ok(chosen)
}

/// The variables of groups, without those of the groups below, as nccopy has it.
fn variables_of_groups(source: &Schema, names: &[String]) -> Result<Vec<String>> {
    if source.format != Format::Netcdf4 {
        return Err(Failure::usage("the input has no groups", "-g and -G are for netCDF-4 files"));
    }
    let mut chosen = Vec::new();
    for name in names {
        let found: Vec<GroupId> =
            (0..source.groups.len()).map(GroupId).filter(|&g| means(name, &source.group_path(g))).collect();
        if found.is_empty() {
            return Err(missing("group", name));
        }
        let vars = found.iter().flat_map(|&g| source.vars_in(g));
        chosen.extend(vars.map(|v| full_path(source, v)));
    }
    Ok(chosen)
}

fn full_path(source: &Schema, v: VarId) -> String {
    let path = source.var_path(v);
    if path.starts_with('/') { path } else { format!("/{path}") }
}

fn means(name: &str, path: &str) -> bool {
    if name.starts_with('/') { path == name } else { path.ends_with(&format!("/{name}")) }
}

fn missing(kind: &str, name: &str) -> Failure {
    Failure::usage(format!("the input has no {kind} `{name}`"), "`ncforge info` shows what is in it")
}

#[cfg(test)]
mod tests {
    use ncforge::model::{Atomic, Dimension, Group, Storage, Variable};

    use ncforge_ops::copy::{Chunks, CopyOptions};

    use super::*;
    use crate::args::{Command, parse};

    fn source(format: Format) -> Schema {
        let mut s = Schema::new(format);
        for (name, unlimited) in [("time", true), ("x", false)] {
            s.dims.push(Dimension::new(name, 10, unlimited));
        }
        s.groups.push(Group { name: "g".into(), parent: Some(Schema::ROOT), attrs: Vec::new() });
        let dims = vec![ncforge::model::DimId(0), ncforge::model::DimId(1)];
        s.vars.push(Variable::new("t", Atomic::Float, dims.clone()));
        let mut sum = Variable::new("sum", Atomic::Byte, dims);
        sum.group = GroupId(1);
        sum.storage = Storage::Chunked {
            chunks: vec![1, 10],
            filters: vec![filters::deflate(9), filters::fletcher32()],
        };
        s.vars.push(sum);
        s
    }

    fn translated(line: &str, format: Format) -> Result<CopyOptions> {
        let words = ["ncforge", "nccopy"].into_iter().chain(line.split(' ')).chain(["in", "out"]);
        let cli = parse(&words.map(Into::into).collect::<Vec<_>>()).expect("parses");
        let Command::Nccopy(args) = cli.command else { panic!("{line}") };
        Ok(translate(&args, &source(format))?.options()?)
    }

    fn ids(options: &CopyOptions, path: &str) -> Option<Vec<u16>> {
        let of = |f: &&FilterSpec| f.vars.as_ref().is_none_or(|v| v.iter().any(|p| p == path));
        options.filters.iter().rev().find(of).map(|f| f.filters.iter().map(|f| f.id).collect())
    }

    #[test]
    fn kinds_have_many_names() {
        for (line, format) in [
            ("-3", Format::Cdf1),
            ("-k nc6", Format::Cdf2),
            ("-k3", Format::Netcdf4),
            ("-k 4", Format::Netcdf4Classic),
            ("-k cdf5", Format::Cdf5),
            ("-7", Format::Netcdf4Classic),
        ] {
            assert_eq!(translated(line, Format::Cdf1).expect(line).format, Some(format), "{line}");
        }
        assert!(translated("-k nonsense", Format::Cdf1).is_err());
    }

    #[test]
    fn storage_makes_classic_files_netcdf4() {
        for line in ["-d1", "-s", "-c x/5"] {
            let format = translated(line, Format::Cdf5).expect(line).format;
            assert_eq!(format, Some(Format::Netcdf4Classic), "{line}");
        }
        assert_eq!(translated("-d0", Format::Cdf1).expect("parses").format, None);
        assert_eq!(translated("-d1", Format::Netcdf4).expect("parses").format, None);
        assert_eq!(translated("-F *,32015,3", Format::Cdf1).expect("parses").format, Some(Format::Netcdf4));
    }

    #[test]
    fn deflate_keeps_checksums_and_replaces_the_rest() {
        let o = translated("-d 4 -s", Format::Netcdf4).expect("parses");
        assert_eq!(ids(&o, "t"), Some(vec![2, 1]));
        assert_eq!(ids(&o, "/g/sum"), Some(vec![2, 1, 3]));
        assert_eq!(o.min_chunked, 0);
        let o = translated("-d 0", Format::Netcdf4).expect("parses");
        assert_eq!(ids(&o, "/g/sum"), Some(vec![3]));
        let o = translated("-F none", Format::Netcdf4).expect("parses");
        assert_eq!(ids(&o, "/g/sum"), Some(vec![]));
        let o = translated("-d 4 -F t,none", Format::Netcdf4).expect("parses");
        assert_eq!(ids(&o, "t"), Some(vec![]));
    }

    #[test]
    fn the_first_chunk_specification_counts() {
        let o = translated("-c x/5,time/2 -c t:1,2 -c t:3,3 -c /x/7", Format::Netcdf4);
        let Chunks::Spec(spec) = o.expect("parses").chunks else { panic!("a specification") };
        assert_eq!(spec.vars, [("t".to_owned(), VarChunks::Lens(vec![1, 2]))]);
        assert_eq!(spec.dims.len(), 2);
        let o = translated("-c t:1,2 -c /", Format::Netcdf4).expect("parses");
        let bare = [("t".to_owned(), VarChunks::Contiguous)];
        assert!(matches!(o.chunks, Chunks::Spec(s) if s.vars == bare), "the compressed one keeps its chunks");
        assert_eq!(translated("-c / -d 1", Format::Netcdf4).expect("parses").chunks, Chunks::Keep);
        assert!(translated("-c x=5", Format::Netcdf4).is_err());
    }

    #[test]
    fn relative_names_mean_every_group() {
        let o = translated("-v sum,/t", Format::Netcdf4).expect("parses");
        assert_eq!(o.values_of.expect("names").vars, ["/g/sum", "/t"]);
        let o = translated("-G g", Format::Netcdf4).expect("parses");
        assert_eq!(o.only.expect("names").vars, ["/g/sum"]);
        assert!(translated("-V nothing", Format::Netcdf4).is_err());
        let o = translated("-G g -V sum,t", Format::Netcdf4).expect("parses");
        assert_eq!(
            (o.only.expect("names").vars, o.switches.all_dimensions),
            (vec!["/g/sum".to_owned()], false)
        );
        let o = translated("-G g -v t", Format::Netcdf4).expect("parses");
        assert!(o.values_of.expect("names").vars == ["/t"] && o.only.expect("names").vars == ["/g/sum"]);
        let o = translated("-g g -v t,sum", Format::Netcdf4).expect("parses");
        assert_eq!(o.values_of.expect("names").vars, ["/g/sum"]);
        let o = translated("-d 1 -c t:1,2 -V /g/sum", Format::Netcdf4).expect("parses");
        assert_eq!((ids(&o, "t"), ids(&o, "/g/sum")), (None, Some(vec![1, 3])));
        assert!(matches!(o.chunks, Chunks::Spec(s) if s.vars.is_empty()));
        assert!(translated("-g g", Format::Cdf1).is_err());
    }
}
