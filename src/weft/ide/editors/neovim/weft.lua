-- Weft's hands inside Neovim (0.7 or newer). Loaded over RPC for one channel; everything it makes goes with the channel.
local channel = ...
local api, fn = vim.api, vim.fn
local M = { diffs = {} }

local function path_of(buffer)
  if not api.nvim_buf_is_loaded(buffer) or vim.bo[buffer].buftype ~= '' then return nil end
  local name = api.nvim_buf_get_name(buffer)
  return name ~= '' and fn.fnamemodify(name, ':p') or nil
end

local function buffer_of(path)
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    if path_of(buffer) == path then return buffer end
  end
end

local function text_of(buffer)
  local text = table.concat(api.nvim_buf_get_lines(buffer, 0, -1, false), '\n')
  return vim.bo[buffer].endofline and text .. '\n' or text
end

local function set_text(buffer, text)
  local ends = text:sub(-1) == '\n'
  local lines = vim.split(ends and text:sub(1, -2) or text, '\n', { plain = true })
  api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].endofline = ends
  vim.bo[buffer].fixendofline = false
end

local function document(buffer)
  return {
    path = path_of(buffer),
    language = vim.bo[buffer].filetype ~= '' and vim.bo[buffer].filetype or 'plaintext',
    line_count = api.nvim_buf_line_count(buffer),
    dirty = vim.bo[buffer].modified,
    untitled = false,
  }
end

-- Lines from 0; columns in UTF-16 units, as the protocol counts.
local function units(buffer, line, bytes)
  local text = api.nvim_buf_get_lines(buffer, line, line + 1, false)[1] or ''
  local ok, _, utf16 = pcall(vim.str_utfindex, text, math.min(bytes, #text))
  return ok and utf16 or bytes
end

-- The end of the character that begins at a byte, so that a selection includes its last character whole.
local function after(buffer, line, byte)
  local text = api.nvim_buf_get_lines(buffer, line, line + 1, false)[1] or ''
  if byte >= #text then return #text end
  byte = byte + 1
  while byte < #text and text:byte(byte + 1) >= 0x80 and text:byte(byte + 1) < 0xC0 do byte = byte + 1 end
  return byte
end

local function range(buffer, path, l1, c1, l2, c2)
  return {
    path = path,
    text = table.concat(api.nvim_buf_get_text(buffer, l1, c1, l2, c2, {}), '\n'),
    start = { line = l1, character = units(buffer, l1, c1) },
    ['end'] = { line = l2, character = units(buffer, l2, c2) },
  }
end

function M.selection()
  local buffer = api.nvim_get_current_buf()
  local path = path_of(buffer)
  if not path then return vim.NIL end
  local mode = api.nvim_get_mode().mode:sub(1, 1)
  local cursor = api.nvim_win_get_cursor(0)
  if mode ~= 'v' and mode ~= 'V' and mode ~= '\22' then
    return range(buffer, path, cursor[1] - 1, cursor[2], cursor[1] - 1, cursor[2])
  end
  local anchor = fn.getpos('v')
  local a, b = { anchor[2] - 1, anchor[3] - 1 }, { cursor[1] - 1, cursor[2] }
  if a[1] > b[1] or (a[1] == b[1] and a[2] > b[2]) then a, b = b, a end
  if mode == 'V' then
    a[2] = 0
    b[2] = #(api.nvim_buf_get_lines(buffer, b[1], b[1] + 1, false)[1] or '')
  else
    b[2] = after(buffer, b[1], b[2])
  end
  local line = api.nvim_buf_get_lines(buffer, a[1], a[1] + 1, false)[1] or ''
  return range(buffer, path, a[1], math.min(a[2], #line), b[1], b[2])
end

function M.document(path)
  local buffer = buffer_of(path)
  return buffer and document(buffer) or vim.NIL
end

function M.tabs()
  local found, current = {}, api.nvim_get_current_buf()
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    if path_of(buffer) and vim.bo[buffer].buflisted then
      table.insert(found, { document = document(buffer), active = buffer == current })
    end
  end
  return found
end

function M.text(path)
  local buffer = buffer_of(path)
  return buffer and text_of(buffer) or vim.NIL
end

-- Opens a file and marks from (l1, c1) up to, not including, (l2, c2), in bytes. `front` false leaves the window alone.
function M.open(path, front, l1, c1, l2, c2)
  if not front then
    local buffer = fn.bufadd(path)
    fn.bufload(buffer)
    vim.bo[buffer].buflisted = true
    return document(buffer)
  end
  vim.cmd('stopinsert')
  local buffer = buffer_of(path)
  if buffer then
    api.nvim_set_current_buf(buffer)
  else
    vim.cmd('hide edit ' .. fn.fnameescape(path))
    buffer = api.nvim_get_current_buf()
  end
  if l1 ~= vim.NIL and l1 ~= nil then
    api.nvim_win_set_cursor(0, { l1 + 1, c1 })
    vim.cmd('normal! v')
    api.nvim_win_set_cursor(0, { l2 + 1, math.max(c2 - 1, 0) })
  end
  return document(buffer)
end

function M.save(path)
  local buffer = buffer_of(path)
  if not buffer then return vim.NIL end
  local ok = pcall(api.nvim_buf_call, buffer, function() vim.cmd('silent update') end)
  return ok and not vim.bo[buffer].modified
end

function M.close(name)
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    local path = path_of(buffer)
    if path and (path == name or fn.fnamemodify(path, ':t') == name) and not vim.bo[buffer].modified then
      return (pcall(api.nvim_buf_delete, buffer, {}))
    end
  end
  return false
end

local severities = { 'Error', 'Warning', 'Information', 'Hint' }

function M.diagnostics(path)
  local found = {}
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    local name = path_of(buffer)
    if name and (path == vim.NIL or path == nil or name == path) then
      local items = {}
      for _, item in ipairs(vim.diagnostic.get(buffer)) do
        local last = item.end_lnum or item.lnum
        table.insert(items, {
          message = item.message,
          severity = severities[item.severity] or 'Error',
          start = { line = item.lnum, character = units(buffer, item.lnum, item.col) },
          ['end'] = { line = last, character = units(buffer, last, item.end_col or item.col) },
          code = item.code and tostring(item.code) or vim.NIL,
          source = item.source or vim.NIL,
        })
      end
      table.insert(found, { path = name, diagnostics = items })
    end
  end
  return found
end

local function notify(...)
  pcall(vim.rpcnotify, channel, 'weft', ...)
end

-- A tab page with the file on the left and the proposal on the right. Writing the proposal accepts it as it is then;
-- closing it, in any way, rejects it.
function M.show_diff(id, path, title, after_text)
  vim.cmd('stopinsert')
  local home = api.nvim_get_current_tabpage()
  if fn.filereadable(path) == 1 then
    vim.cmd('tab split')
    vim.cmd('hide edit ' .. fn.fnameescape(path))
  else
    vim.cmd('tabnew')
    vim.bo.buftype, vim.bo.bufhidden, vim.bo.swapfile = 'nofile', 'wipe', false
  end
  local left, kind = api.nvim_get_current_win(), vim.bo.filetype
  vim.cmd('diffthis')
  vim.cmd('rightbelow vnew')
  local right, buffer = api.nvim_get_current_win(), api.nvim_get_current_buf()
  set_text(buffer, after_text)
  vim.bo[buffer].buftype, vim.bo[buffer].bufhidden, vim.bo[buffer].swapfile = 'acwrite', 'wipe', false
  pcall(api.nvim_buf_set_name, buffer, 'weft://' .. id .. '/' .. title)
  vim.bo[buffer].filetype = kind
  vim.bo[buffer].modified = false
  vim.cmd('diffthis')
  local diff = { buffer = buffer, tab = api.nvim_get_current_tabpage(), home = home, left = left, right = right }
  M.diffs[id] = diff
  api.nvim_create_autocmd('BufWriteCmd', {
    buffer = buffer,
    callback = function()
      if M.diffs[id] then
        notify('accepted', id, text_of(buffer))
        vim.bo[buffer].modified = false
        vim.schedule(function() M.close_diff(id) end)
      end
    end,
  })
  api.nvim_create_autocmd({ 'BufWipeout', 'BufUnload' }, {
    buffer = buffer,
    callback = function()
      if M.diffs[id] then
        notify('rejected', id)
        vim.schedule(function() M.close_diff(id) end)
      end
    end,
  })
end

function M.close_diff(id)
  local diff = M.diffs[id]
  if not diff then return end
  M.diffs[id] = nil
  if api.nvim_tabpage_is_valid(diff.tab) then
    if api.nvim_win_is_valid(diff.left) then
      api.nvim_win_call(diff.left, function() vim.cmd('diffoff') end)
    end
    if #api.nvim_list_tabpages() > 1 then
      vim.cmd(api.nvim_tabpage_get_number(diff.tab) .. 'tabclose!')
    end
  end
  if api.nvim_buf_is_valid(diff.buffer) then pcall(api.nvim_buf_delete, diff.buffer, { force = true }) end
  if api.nvim_tabpage_is_valid(diff.home) then api.nvim_set_current_tabpage(diff.home) end
end

local group = api.nvim_create_augroup('weft_' .. channel, { clear = true })

api.nvim_create_autocmd({ 'CursorMoved', 'CursorMovedI', 'ModeChanged', 'BufEnter', 'TextChanged' }, {
  group = group,
  callback = function()
    local ok, selection = pcall(M.selection)
    if ok and not pcall(vim.rpcnotify, channel, 'weft', 'selection', selection) then
      api.nvim_del_augroup_by_id(group)
    end
  end,
})

-- Several programs may be attached to one Neovim: a mention goes to all of them.
_G.weft_channels = _G.weft_channels or {}
_G.weft_channels[channel] = true
local function mention(...)
  for each in pairs(_G.weft_channels) do
    if not pcall(vim.rpcnotify, each, 'weft', 'mention', ...) then _G.weft_channels[each] = nil end
  end
end

-- :WeftMention sends the file, :'<,'>WeftMention its marked lines.
api.nvim_create_user_command('WeftMention', function(options)
  local path = path_of(api.nvim_get_current_buf())
  if not path then return end
  if options.range > 0 then
    mention(path, options.line1 - 1, options.line2 - 1)
  else
    mention(path)
  end
end, { range = true, desc = 'Point the attached agents at this file' })
api.nvim_create_user_command('WeftAccept', function() vim.cmd('write') end, { desc = 'Accept the proposed change' })
api.nvim_create_user_command('WeftReject', function() vim.cmd('bwipeout!') end, { desc = 'Reject the proposed change' })

_G['weft_' .. channel] = M
return fn.getcwd()
